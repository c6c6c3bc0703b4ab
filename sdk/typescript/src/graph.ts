import type { Schemas } from './api/schemas.ts';
import { type Duration, toMs } from './duration.ts';
import { ParleyError } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import { RequestHandle, type TaskLimit } from './request.ts';
import type { Priority } from './task.ts';
import { sleep, type Transport } from './transport.ts';

export interface GraphNode {
  capability: string;
  input?: JsonObject;
  /** Names of the nodes that must be completed first. Their results are `ctx.dependencies`. */
  after?: string[];
  /** The only agent that may do it. */
  to?: string;
  priority?: Priority;
  onFailure?: 'fail' | 'skip';
  /** The node waits while its keys have no place for it. */
  limits?: TaskLimit[];
  retry?: { maxAttempts?: number; backoff?: 'exponential' | 'linear' | 'fixed'; initial?: Duration };
}

export interface GraphOptions {
  /** The same id again is the same graph. */
  id?: string;
  conversation?: string;
  onFailure?: 'fail' | 'skip';
  signal?: AbortSignal;
}

const NODE_CHECK_MS = 500;

/** Tasks that wait for each other. */
export class GraphHandle {
  readonly id: string;
  /** Resolves once the graph is on disk. */
  readonly accepted: Promise<unknown>;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string, accepted: Promise<unknown> = Promise.resolve()) {
    this.#transport = transport;
    this.id = id;
    this.accepted = accepted;
    accepted.catch(() => {});
  }

  status({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<Schemas['Graph']> {
    return this.#transport.call('GET', this.#path(), { signal });
  }

  cancel(): Promise<Schemas['Graph']> {
    return this.#transport.call('POST', this.#path('/cancel'));
  }

  /** The task of a node. */
  node<Output = Json>(name: string): RequestHandle<Output> {
    return new RequestHandle<Output>(
      toNodeId(this.id, name),
      this.accepted.then(() => ({})),
      this.#transport,
    );
  }

  /** The results by node, once all are completed; otherwise the `TaskFailed` of a node that is not. */
  async results<Results extends Record<string, Json> = Record<string, Json>>({
    signal,
  }: {
    signal?: AbortSignal;
  } = {}): Promise<Results> {
    await this.accepted;
    const { nodes } = await this.status({ signal });
    const results: Record<string, Json> = {};
    await Promise.all(
      nodes.map(async ({ taskId }) => {
        const name = toNodeName(this.id, taskId);
        results[name] = await this.#waitFor(name, signal);
      }),
    );
    return results as Results;
  }

  /** A node is accepted before it is a task. */
  async #waitFor(name: string, signal: AbortSignal | undefined): Promise<Json> {
    for (;;) {
      try {
        return await this.node(name).result(signal ? { signal } : {});
      } catch (error) {
        if (!(error instanceof ParleyError && error.code === 'task_not_found')) throw error;
        await sleep(NODE_CHECK_MS, signal);
      }
    }
  }

  #path(rest = ''): string {
    return `/v1/graphs/${encodeURIComponent(this.id)}${rest}`;
  }
}

const toNodeId = (graphId: string, name: string): string => `${graphId}.${name}`;

/** Nodes of a graph that was not requested here have any id. */
export const toNodeName = (graphId: string | undefined, id: string): string =>
  graphId !== undefined && id.startsWith(`${graphId}.`) ? id.slice(graphId.length + 1) : id;

export const requestGraph = (
  transport: Transport,
  nodes: Record<string, GraphNode>,
  { id = crypto.randomUUID(), conversation, onFailure, signal }: GraphOptions = {},
): GraphHandle => {
  const body = {
    graphId: id,
    nodes: Object.entries(nodes).map(([name, node]) => buildNode(id, name, node)),
    ...(conversation !== undefined && { conversationId: conversation }),
    ...(onFailure && { onFailure }),
  };
  return new GraphHandle(transport, id, transport.call('POST', '/v1/graphs', { body, signal }));
};

const PRIORITIES = { critical: 'urgent', high: 'high', normal: 'normal', low: 'low' };

const buildNode = (graphId: string, name: string, node: GraphNode): JsonObject => {
  const { capability, input, after = [], to, priority, onFailure, limits, retry } = node;
  return {
    taskId: toNodeId(graphId, name),
    capability,
    dependencies: after.map((other) => toNodeId(graphId, other)),
    ...(input && { payload: input }),
    ...(to !== undefined && { agent: to }),
    ...(priority && { priority: PRIORITIES[priority] }),
    ...(onFailure && { onFailure }),
    ...(limits && { limits: limits.map((limit) => ({ ...limit })) }),
    ...(retry && {
      retryPolicy: {
        ...(retry.maxAttempts !== undefined && { maxAttempts: retry.maxAttempts }),
        ...(retry.backoff && { backoffType: retry.backoff }),
        ...(retry.initial !== undefined && { initialDelay: toMs(retry.initial) }),
      },
    }),
  };
};
