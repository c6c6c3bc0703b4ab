import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import { atEndOf, type Owner } from './server-process.ts';

/** What a scripted agent says to a message. */
export interface Turn {
  text: string;
  isFollowUp: boolean;
  say(state: string, text?: string): void;
  give(artifactId: string, text: string): void;
}

export type Script = (turn: Turn) => Promise<void> | void;

/** An agent on the official server, unchanged, which does as its script says. */
export const a2aServer = async (owner: Owner, script: Script) => {
  const seen: { method: string; authorization: string | undefined; traceparent: unknown; messageId?: string }[] = [];
  /** Answers are lost while it is true; what was asked is done. */
  const network = { losesAnswers: false, isDown: false };
  const executor: AgentExecutor = {
    execute: async (context, bus) => {
      const text = context.userMessage.parts.map(({ content }) => JSON.stringify(content?.value)).join(' ');
      await script({ text, isFollowUp: context.task !== undefined, ...toTurn(context, bus) });
      bus.finished();
    },
    cancelTask: async (taskId, bus) => {
      const status = { state: 'TASK_STATE_CANCELED' };
      bus.publish(
        AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId: contexts.get(taskId), status })),
      );
      bus.finished();
    },
  };
  const contexts = new Map<string, string>();
  const toTurn = ({ taskId, contextId }: RequestContext, bus: ExecutionEventBus) => {
    contexts.set(taskId, contextId);
    bus.publish(
      AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' }, history: [] })),
    );
    return {
      say: (state: string, text?: string) => {
        const message = text && { messageId: `${taskId}-${state}`, role: 'ROLE_AGENT', parts: [{ text }] };
        const status = { state: `TASK_STATE_${state}`, message, timestamp: new Date().toISOString() };
        bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })));
      },
      give: (artifactId: string, text: string) => {
        const artifact = { artifactId, name: artifactId, parts: [{ text }] };
        bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact })));
      },
    };
  };
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}`;
  const card = AgentCard.fromJSON({
    name: 'scripted',
    description: 'does as its script says',
    version: '1',
    supportedInterfaces: [{ url: `${address}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));
  server.on('request', async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    if (network.isDown) return request.socket.destroy();
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end(JSON.stringify(AgentCard.toJSON(card)));
    const body = JSON.parse(text);
    seen.push({
      method: body.method,
      authorization: request.headers.authorization,
      traceparent: request.headers.traceparent,
      messageId: body.params.message?.messageId,
    });
    const answer = await handler.handle(body, new ServerCallContext({ requestedVersion: '1.0' }));
    if (network.losesAnswers) return request.socket.destroy();
    response.end(JSON.stringify(answer));
  });
  atEndOf(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return { address, seen, network };
};
