// Lines as no client library would let one write them: what we answer, and where that is on purpose not what the
// official SDKs' own stdio servers answer (v1 1.32.2 and v2 2.4.0, tried with the same lines).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { server, test } from './check.mjs';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const message = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const initialize = (version, id = 0) => message(id, 'initialize',
  { protocolVersion: version, capabilities: {}, clientInfo: { name: 'raw', version: '1' } });
const modern = (id, method, meta = META) => message(id, method, { _meta: meta });
const exec = (id, code) => message(id, 'tools/call', { name: 'exec', arguments: { code } });

// name, lines to send, answers: "ID ok", "ID CODE" or "ID VERSION", with the id as it stands in the answer.
const CASES = [
  ['tools/list first', [message(1, 'tools/list')], ['1 ok']],
  ['ping first', [message(1, 'ping')], ['1 ok']],
  // SDKs say nothing to a line that they cannot read; JSON-RPC asks for an answer, and a person debugging wants one.
  ['garbage, blank lines, ping', ['{bad', '', '   ', message(1, 'ping')], ['null -32700', '1 ok']],
  ['a string as id', [message('a', 'ping')], ['"a" ok']],
  // SDKs drop an id that a double cannot hold, and the caller waits for its timeout.
  ['an id beyond 2^53', ['{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'], ['9007199254740993 ok']],
  // SDKs are silent here too, or answer a fraction.
  ['ids that are none', ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['1.5 -32600', 'null -32600']],
  ['no jsonrpc', ['{"id":9,"method":"ping"}'], ['9 -32600']],
  ['unknown method', [message(-3, 'foo')], ['-3 -32601']],
  ['unknown notification', ['{"jsonrpc":"2.0","method":"notifications/zzz"}', message(1, 'ping')], ['1 ok']],
  // Without the capability SDKs say -32601, and some hosts then mark the server as failed.
  ['lists we have nothing for', [message(5, 'resources/list'), message(6, 'prompts/list')], ['5 ok', '6 ok']],
  ['calls without a tool', [message(6, 'tools/call', {}), message(7, 'tools/call')], ['6 -32602', '7 -32602']],
  ['logging', [message(11, 'logging/setLevel', { level: 'info' })], ['11 -32601']],
  ['discover without a claim', [message(8, 'server/discover')], ['8 -32601']],
  // SDKs are silent; 2025-11-25 has no batches and says nothing about how to refuse one.
  ['a batch', [initialize('2025-11-25'), `[${message(10, 'ping')}]`], ['0 2025-11-25', 'null -32600']],
  // SDKs removed batches; 2025-03-26 says that a server must take them.
  ['a batch where it is allowed', [initialize('2025-03-26'), `[${message(10, 'ping')}]`], ['0 2025-03-26', '[10 ok]']],
  ['initialize twice', [initialize('2025-06-18'), initialize('2025-03-26', 1)], ['0 2025-06-18', '1 2025-03-26']],
  ['initialize with a modern version', [initialize('2026-07-28')], ['0 2025-11-25']],
  ['initialize with an old version', [initialize('1900-01-01')], ['0 2025-11-25']],
  ['a probe, then the handshake', [modern('d', 'server/discover'), initialize('2025-11-25'), message(3, 'tools/list')],
    ['"d" ok', '0 2025-11-25', '3 ok']],
  // SDK v2 refuses the handshake once a modern request came (-32022). A host may use two libraries on one pipe.
  ['modern, then the handshake', [modern('d', 'tools/list'), initialize('2025-11-25')], ['"d" ok', '0 2025-11-25']],
  // SDKs serve these by the rules of the handshake, discover with -32601. Each message has its own claim.
  ['the handshake, then modern', [initialize('2025-11-25'), modern('d', 'tools/list'), modern('e', 'server/discover')],
    ['0 2025-11-25', '"d" ok', '"e" ok']],
  ['a version to come', [modern('d', 'server/discover',
    { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' })], ['"d" -32022']],
  ['no capabilities', [modern('d', 'tools/list', { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' })],
    ['"d" -32602']],
  // After a modern request SDK v2 demands the claim from then on (-32602).
  ['modern ping, then no claim', [modern('p', 'ping'), message('q', 'tools/list')], ['"p" -32601', '"q" ok']],
  ['cancel', [exec(77, 'import time; time.sleep(0.3)'),
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}', message(78, 'ping')], ['78 ok']],
  ['CR LF', [`${message(78, 'ping')}\r`], ['78 ok']],
  // SDK v2 exits at once and v1 waits for ever; a second is enough for `printf … | mcp-exec`, and too short to hang.
  ['a call at the end of input', [exec(77, 'import time; time.sleep(0.3)')], ['77 ok']],
  ['a long call at the end of input', [exec(77, 'import time; time.sleep(60)')], []],
];

// One answer in a few words.
function summary(line) {
  const answer = JSON.parse(line);
  if (Array.isArray(answer)) return `[${answer.map((a) => summary(JSON.stringify(a))).join(', ')}]`;
  const id = line.match(/"id":\s*("(?:[^"\\]|\\.)*"|[^,}\s]+)/)[1];
  return `${id} ${answer.error?.code ?? answer.result.protocolVersion ?? 'ok'}`;
}

// Sends the lines and the end of input. Gives the answers and the exit code.
function converse(lines) {
  return new Promise((done) => {
    const child = spawn(server.command, server.args, { stdio: ['pipe', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.on('data', (data) => { out += data; });
    child.stdin.on('error', () => {});
    child.stdin.end(lines.map((line) => `${line}\n`).join(''));
    const timer = setTimeout(() => child.kill('SIGKILL'), 10000);
    child.on('close', (code) => {
      clearTimeout(timer);
      done({ code, answers: out.split('\n').filter(Boolean).map(summary) });
    });
  });
}

for (const [name, lines, wanted] of CASES) {
  await test(`raw ${name}`, async () => {
    assert.deepEqual(await converse(lines), { code: 0, answers: wanted });
  });
}
