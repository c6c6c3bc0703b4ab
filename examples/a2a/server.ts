import { createServer } from 'node:http';
import { AgentCard, Task } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';

/** An agent on the official A2A server. It knows nothing of Parley, which calls it. */
const { PORT = '9000' } = process.env;
const address = `http://127.0.0.1:${PORT}`;

const executor: AgentExecutor = {
  execute: async ({ taskId, contextId, userMessage }, bus) => {
    const said = userMessage.parts.map(({ content }) => content?.value).join(' ');
    const artifacts = [{ artifactId: 'result', parts: [{ text: `${said.toUpperCase()}!` }] }];
    bus.publish(
      AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_COMPLETED' }, artifacts })),
    );
    bus.finished();
  },
  cancelTask: async (_taskId, bus) => bus.finished(),
};

const card = AgentCard.fromJSON({
  name: 'Shouter',
  description: 'Says it louder.',
  version: '1.0.0',
  supportedInterfaces: [{ url: `${address}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'shout', name: 'shout', description: 'Says it louder.', tags: ['text'] }],
});
const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));

const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += piece;
  const answer =
    request.method === 'GET'
      ? AgentCard.toJSON(card)
      : await handler.handle(body, new ServerCallContext({ requestedVersion: '1.0' }));
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
});
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`listening on ${address}\n`));
process.on('SIGTERM', () => process.exit(0));
