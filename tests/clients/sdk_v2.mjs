// The TypeScript SDK, second generation, in its three ways to choose an era.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { args, close, command, exercise, test } from './check.mjs';

for (const [name, mode, version] of [
  ['auto', 'auto', '2026-07-28'],
  ['legacy', 'legacy', '2025-11-25'],
  ['pinned', { pin: '2026-07-28' }, '2026-07-28'],
]) {
  const label = `v2 ${name}`;
  const client = new Client({ name: 'sdk-v2', version: '1' }, { versionNegotiation: { mode } });
  await test(`${label} connects`, async () => {
    await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }));
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    assert.equal(client.getServerVersion().name, 'mcp-exec');
  });
  await exercise(label, client, (options) => [options]);
  await close(label, client);
}
