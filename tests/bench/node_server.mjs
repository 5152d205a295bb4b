// A server of the official SDK with one tool that is only listed, to compare start, memory and answers with. It is run
// as text (node -e), so that it need not lie beside the packages. Last argument: stdio or http.
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const tool = {
  name: 'exec',
  description: 'Runs a program.',
  inputSchema: {
    type: 'object',
    properties: { code: { type: 'string' }, timeout_s: { type: 'integer' }, stdin: { type: 'string' } },
    required: ['code'],
  },
};

function make() {
  const server = new Server({ name: 'sdk', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool] }));
  return server;
}

// Without sessions each request has a server and a transport of its own, as the SDK wants it.
async function answer(request, response) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  await make().connect(transport);
  await transport.handleRequest(request, response);
}

if (process.argv.at(-1) === 'stdio') {
  await make().connect(new StdioServerTransport());
} else {
  const http = createServer(answer);
  http.listen(0, '127.0.0.1', () => console.log(http.address().port));
}
