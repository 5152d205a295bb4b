// The TypeScript SDK, first generation: what most installed hosts are built on. Legacy era only.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { args, close, command, exercise, test } from './check.mjs';

const client = new Client({ name: 'sdk-v1', version: '1' });
await test('v1 connects', async () => {
  await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }));
  assert.equal(client.getServerVersion().name, 'mcp-exec');
  await client.ping();
});
await exercise('v1', client, (options) => [undefined, options]);
await close('v1', client);
