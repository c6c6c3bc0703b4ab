import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestAgent } from './api.ts';

export interface Wanted {
  taskId: string;
  agent?: string;
  dependencies?: string[];
  [field: string]: unknown;
}

/** Nodes by their names, such as `{ soup: [], dinner: ['soup'] }`, with ids of their own in each test. */
export const graphOf = (needs: Record<string, string[]>, overrides: Record<string, unknown> = {}) => {
  const graphId = randomUUID();
  const id = (name: string): string => `${graphId.slice(0, 8)}-${name}`;
  const nodes: Wanted[] = Object.entries(needs).map(([name, dependencies]) => ({
    taskId: id(name),
    agent: 'cook',
    capability: 'parse_recipe',
    dependencies: dependencies.map(id),
    payload: { name },
  }));
  return { id, graph: { graphId, conversationId: `conversation-${graphId}`, nodes, ...overrides } };
};

/** What each node is at, by its name. */
export const states = async (agent: TestAgent, graphId: string): Promise<Record<string, string>> => {
  const { status, body } = await agent.call('GET', `/v1/graphs/${graphId}`);
  assert.equal(status, 200, JSON.stringify(body));
  return Object.fromEntries(
    body.nodes.map((node: { taskId: string; state?: string; status?: string }) => [
      node.taskId.slice(9),
      node.state ?? node.status,
    ]),
  );
};
