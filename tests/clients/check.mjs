// What every official client does with mcp-exec, and how the outcome is reported (TAP). The clients' own scripts import
// this; each of them gets the command of the server as its arguments.
import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';

export const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: node SCRIPT COMMAND [ARGUMENT...]');
  process.exit(64);
}

const LIMIT_MS = 30000;

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

// The tests that are the same for every generation of client. callOptions(options) are the last arguments of callTool.
export async function exercise(label, client, callOptions) {
  let tool;
  await test(`${label} lists the tool`, async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name), ['exec']);
    [tool] = tools;
    assert.ok(tool.inputSchema && tool.outputSchema && tool.description);
  });
  for (const [name, a, wanted] of [
    ['prints', { code: 'print(2 + 2)' }, { stdout: '4\n', exit_code: 0, warnings: [] }],
    ['reads stdin', { code: 'print(input())', stdin: 'é\n' }, { stdout: 'é\n' }],
    ['fails', { code: '1/0' }, { exit_code: 1, limit: null }],
    ['times out', { code: 'import time; time.sleep(9)', timeout_s: 1 }, { exit_code: -1, timed_out: true }],
    ['dies of a signal', { code: 'import os; os.kill(os.getpid(), 11)' }, { exit_code: -1, signal: 'SIGSEGV' }],
  ]) {
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
  await test(`${label} gives up on a call, and the next one works`, async () => {
    await assert.rejects(run(client, { code: 'import time; time.sleep(20)' }, ...callOptions({ timeout: 500 })));
    const result = await run(client, { code: 'print(1)' }, ...callOptions({ timeout: 2000 }));
    assert.equal(result.structuredContent.stdout, '1\n');
  });
}

// Ends the connection; SDK clients close stdin and give the server two seconds before they send signals.
export async function close(label, client) {
  await test(`${label} server ends by itself`, async () => {
    const start = Date.now();
    await client.close();
    assert.ok(Date.now() - start < 1800, `it took ${Date.now() - start} ms`);
  });
}
