// What every official client does with mcp-exec, and how the outcome is reported (TAP). The clients' own scripts import
// this; each of them is told where the server is: a command to start, or an address with the header fields to send.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import Ajv2020 from 'ajv/dist/2020.js';

const [kind, place, ...rest] = process.argv.slice(2);
if (!place || !['stdio', 'http', 'sse'].includes(kind)) {
  console.error('usage: node SCRIPT stdio COMMAND [ARGUMENT...]\n       node SCRIPT http|sse URL [HEADER...]');
  process.exit(64);
}

// How to reach the server: { kind, command, args } or { kind, url, headers }.
export const server = kind === 'stdio' ? { kind, command: place, args: rest } : {
  kind,
  url: new URL(place),
  headers: Object.fromEntries(rest.map((header) => header.split(/: (.*)/s, 2))),
};
const auth = kind === 'stdio' ? '' : ` ${Object.keys(server.headers).join(' ') || 'open'}`;

// The second way to give a token is run only to see the token pass: what takes its time is left out.
const brief = server.headers?.Authorization !== undefined;

// What stands in the name of every test.
export const label = (client) => `${client} ${kind}${auth}`;

// How many times slower than here a server that is on another machine may be; whose processes cannot be looked at.
const patience = Number(process.env.PATIENCE_ELSEWHERE ?? 0) || 1;
const elsewhere = process.env.PATIENCE_ELSEWHERE !== undefined;

const LIMIT_MS = 30000 * patience;

// Runs one test with a bound on its time and prints its verdict.
export async function test(name, body) {
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error('took too long')), LIMIT_MS); });
  try {
    await Promise.race([body(), late]);
    console.log(`ok ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok ${name}`);
    for (const line of String(error?.message ?? error).split('\n')) console.log(`# ${line}`);
  } finally {
    clearTimeout(timer);
  }
}

// Fails unless value keeps the rules of schema (JSON Schema 2020-12, which MCP says is the default).
export function assertConforms(schema, value) {
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema);
  assert.ok(validate(value), `structuredContent breaks outputSchema: ${JSON.stringify(validate.errors)}`);
}

const run = (client, a, ...more) => client.callTool({ name: 'exec', arguments: a }, ...more);

// Whether a process that calls itself so is there and alive, on this machine.
function running(name) {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/stat`, 'latin1').match(/\((.*)\) (.)/s)?.[1] === name;
    } catch {
      return false;
    }
  });
}

async function until(condition, limit) {
  for (const end = Date.now() + limit; !condition(); await pause(20)) {
    if (Date.now() > end) throw new Error(`it did not come to be within ${limit} ms: ${condition}`);
  }
}

// The tests that are the same for every generation of client. callOptions(options) are the last arguments of callTool.
export async function exercise(label, client, callOptions) {
  let tool;
  await test(`${label} lists the tool`, async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name), ['exec']);
    [tool] = tools;
    assert.ok(tool.inputSchema && tool.outputSchema && tool.description);
  });
  const programs = [
    ['prints', { code: 'print(2 + 2)' }, { stdout: '4\n', exit_code: 0, warnings: [] }],
    ['reads stdin', { code: 'print(input())', stdin: 'é\n' }, { stdout: 'é\n' }],
    ['fails', { code: '1/0' }, { exit_code: 1, limit: null }],
    ['times out', { code: 'import time; time.sleep(9)', timeout_s: 1 }, { exit_code: -1, timed_out: true }],
    ['dies of a signal', { code: 'import os; os.kill(os.getpid(), 11)' }, { exit_code: -1, signal: 'SIGSEGV' }],
  ];
  for (const [name, a, wanted] of brief ? programs.slice(0, 1) : programs) {
    await test(`${label} program ${name}`, async () => {
      const result = await run(client, a);
      assert.ok(!result.isError, JSON.stringify(result));
      assertConforms(tool.outputSchema, result.structuredContent);
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
      for (const [key, value] of Object.entries(wanted)) assert.deepEqual(result.structuredContent[key], value, key);
    });
  }
  await test(`${label} unknown tool is refused`, async () => {
    await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32602 });
  });
  await test(`${label} bad arguments are a tool error`, async () => {
    for (const a of [{}, { code: 42 }, { code: '1', timeout_s: 'soon' }, { code: '' }]) {
      const result = await run(client, a);
      assert.equal(result.isError, true, JSON.stringify(a));
      assert.ok(result.content[0].text.length > 20);
    }
  });
  await test(`${label} lists are empty`, async () => {
    assert.deepEqual((await client.listResources()).resources, []);
    assert.deepEqual((await client.listPrompts()).prompts, []);
    assert.deepEqual((await client.listResourceTemplates()).resourceTemplates, []);
  });
  if (brief) return;
  await test(`${label} gives up on a call, its run dies, and the next one works`, async () => {
    const name = `t${randomBytes(5).toString('hex')}`;
    const code = `import ctypes, time; ctypes.CDLL(None).prctl(15, b'${name}', 0, 0, 0); time.sleep(20)`;
    let seen = false;
    const call = run(client, { code }, ...callOptions({ timeout: 1000 }));
    const watch = elsewhere ? undefined : until(() => running(name), 900).then(() => { seen = true; }, () => {});
    await assert.rejects(call);
    await watch;
    assert.ok(seen || elsewhere, 'the program was not seen to run');
    if (!elsewhere) await until(() => !running(name), 2000);
    // Programs run one at a time.
    const result = await run(client, { code: 'print(1)' }, ...callOptions({ timeout: 2000 * patience }));
    assert.equal(result.structuredContent.stdout, '1\n');
  });
  await test(`${label} sees progress while a program runs`, async () => {
    const seen = [];
    const onprogress = (progress) => seen.push({ ...progress, at: Date.now() });
    const start = Date.now();
    const result = await run(client, { code: 'import time; time.sleep(2.5)' }, ...callOptions({ onprogress }));
    assert.equal(result.structuredContent.exit_code, 0);
    assert.ok(seen.length > 0, 'there was none');
    assert.ok(seen[0].at - start < 2300 * patience, `the first came after ${seen[0].at - start} ms`);
    for (let i = 1; i < seen.length; i++) assert.ok(seen[i].progress > seen[i - 1].progress, JSON.stringify(seen));
    for (const { message } of seen) assert.equal(typeof message, 'string');
  });
}

// Ends the connection. SDK clients close the stdin of a server that they started, and give it two seconds before they
// send signals.
export async function close(label, client) {
  await test(`${label} ends`, async () => {
    const start = Date.now();
    await client.close();
    assert.ok(Date.now() - start < 1800 * patience, `it took ${Date.now() - start} ms`);
  });
}

// Ends the session of a client of Streamable HTTP. Where there is one, its id is good for nothing afterwards.
export async function terminate(label, transport, hasSession) {
  await test(`${label} ends its session`, async () => {
    const id = transport.sessionId;
    assert.equal(id !== undefined, hasSession);
    await transport.terminateSession();
    if (id === undefined) return;
    const { status } = await fetch(server.url, {
      method: 'POST',
      headers: { ...server.headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
        'Mcp-Session-Id': id },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    assert.equal(status, 404);
  });
}

// Without the right token a client is refused, and says so in a way of its own. connect(headers) connects a new client.
export async function refuse(label, connect) {
  if (Object.keys(server.headers ?? {}).length === 0) return;
  const wrong = Object.fromEntries(Object.entries(server.headers).map(([name, value]) => [name, `${value}x`]));
  for (const [name, headers] of [['no token', {}], ['a wrong token', wrong]]) {
    await test(`${label} is refused with ${name}`, async () => {
      await assert.rejects(connect(headers), (error) => /\b401\b|Unauthorized/.test(`${error.code} ${error.message}`));
    });
  }
}
