// The TypeScript SDK, second generation, in its three ways to choose an era; over SSE there is only the legacy one.
import assert from 'node:assert/strict';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { close, exercise, label, refuse, server, terminate, test } from './check.mjs';

const TRANSPORTS = { http: StreamableHTTPClientTransport, sse: SSEClientTransport };
const MODES = [
  ['legacy', 'legacy', '2025-11-25'],
  ['auto', 'auto', '2026-07-28'],
  ['pinned', { pin: '2026-07-28' }, '2026-07-28'],
];

function open(headers) {
  if (server.kind !== 'stdio') return new TRANSPORTS[server.kind](server.url, { requestInit: { headers } });
  return new StdioClientTransport({ command: server.command, args: server.args, env: process.env, stderr: 'ignore' });
}

for (const [word, mode, version] of server.kind === 'sse' ? MODES.slice(0, 1) : MODES) {
  const name = label(`v2 ${word}`);
  const start = () => new Client({ name: 'sdk-v2', version: '1' }, { versionNegotiation: { mode } });
  const client = start();
  const transport = open(server.headers);
  await test(`${name} connects`, async () => {
    await client.connect(transport);
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    assert.equal(client.getServerVersion().name, 'mcp-exec');
  });
  await exercise(name, client, (options) => [options]);
  if (server.kind === 'http') await terminate(name, transport, mode === 'legacy');
  await close(name, client);
  await refuse(name, (headers) => start().connect(open(headers)));
}
