// The Inspector's command line, in both eras: a client that people use, and another reading of the protocol.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { assertConforms, label, server, test } from './check.mjs';

const inspector = fileURLToPath(new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
  import.meta.url));

const target = server.kind === 'stdio' ? [server.command, ...server.args] : [server.url.href, '--transport', server.kind,
  ...Object.entries(server.headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])];

// Runs the Inspector once. Gives its exit code, the result it printed, and all it printed as text.
function inspect(era, ...more) {
  const argv = [inspector, '--cli', ...target, '--protocol-era', era, '--format', 'json', '-q', ...more];
  return new Promise((done) => {
    execFile(process.execPath, argv, { timeout: 25000 }, (error, stdout, stderr) => {
      let value;
      try { value = JSON.parse(stdout); } catch { value = undefined; }
      done({ code: error ? error.code : 0, value: value?.result, text: stdout + stderr });
    });
  });
}

const call = (a) => ['--method', 'tools/call', '--tool-name', 'exec', '--tool-args-json', JSON.stringify(a)];

async function examine(era) {
  const name = label(`inspector ${era}`);
  let tool;
  await test(`${name} lists the tool`, async () => {
    const { code, value, text } = await inspect(era, '--method', 'tools/list', '--strict');
    assert.equal(code, 0, text);
    [tool] = value.tools;
    assert.equal(tool.name, 'exec');
  });
  await test(`${name} calls it`, async () => {
    const { code, value, text } = await inspect(era, ...call({ code: 'print(2 + 2)' }));
    assert.equal(code, 0, text);
    assert.equal(value.structuredContent.stdout, '4\n');
    assertConforms(tool.outputSchema, value.structuredContent);
  });
  await test(`${name} shows a tool error`, async () => {
    const { code, value, text } = await inspect(era, ...call({ code: ' ' }));
    assert.notEqual(code, 0, text);
    assert.equal(value.isError, true, text);
    assert.match(value.content[0].text, /code/);
  });
  await test(`${name} refuses an unknown tool`, async () => {
    const { code, text } = await inspect(era, '--method', 'tools/call', '--tool-name', 'no_such_tool');
    assert.notEqual(code, 0, text);
    assert.match(text, /no_such_tool/);
  });
}

// Two at a time: most of the time of each is the start of Node.
await Promise.all((server.kind === 'sse' ? ['legacy'] : ['legacy', 'modern']).map(examine));
