// The TypeScript SDK, first generation: what most installed hosts are built on. Legacy era only.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { close, exercise, label, refuse, server, terminate, test } from './check.mjs';

const TRANSPORTS = { http: StreamableHTTPClientTransport, sse: SSEClientTransport };

function open(headers) {
  if (server.kind !== 'stdio') return new TRANSPORTS[server.kind](server.url, { requestInit: { headers } });
  return new StdioClientTransport({ command: server.command, args: server.args, env: process.env, stderr: 'ignore' });
}

const name = label('v1');
const client = new Client({ name: 'sdk-v1', version: '1' });
const transport = open(server.headers);
await test(`${name} connects`, async () => {
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, 'mcp-exec');
  await client.ping();
});
await exercise(name, client, (options) => [undefined, options]);
if (server.kind === 'http') await terminate(name, transport, true);
await close(name, client);
await refuse(name, (headers) => new Client({ name: 'sdk-v1', version: '1' }).connect(open(headers)));
