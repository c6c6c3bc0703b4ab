export const INDEXES = ['byList', 'byHolder', 'byCreation', 'due'] as const;
export type TableIndexName = (typeof INDEXES)[number];

type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';
type QueueAction =
  | 'SendMessage'
  | 'ReceiveMessage'
  | 'DeleteMessage'
  | 'ChangeMessageVisibility'
  | 'GetQueueAttributes';
type ObjectAction = 'GetObject' | 'PutObject' | 'PutObjectTagging' | 'DeleteObject' | 'DeleteObjectTagging';

export interface FunctionAccess {
  table?: readonly TableAction[];
  indexes?: readonly TableIndexName[];
  /** A sender also records queue activity in the table, so it may update items. */
  queues?: readonly QueueAction[];
  relayQueues?: readonly QueueAction[];
  /** Only the queue of the lowest priority: chunks may be lost. */
  relayChunkQueues?: readonly QueueAction[];
  delayQueue?: readonly QueueAction[];
  bus?: readonly 'PutEvents'[];
  content?: readonly ObjectAction[];
  failures?: readonly ObjectAction[];
}

export interface FunctionSpec {
  memoryMB: number;
  timeoutS: number;
  access: FunctionAccess;
}

const READ_ACTIONS = ['GetItem', 'BatchGetItem', 'Query'] as const;

/** New objects are tagged until the dispatcher finds a record that retains them. */
const CONTENT_ACTIONS = ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject'] as const;

const INGEST_ACCESS = {
  table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
  indexes: ['byHolder'],
  // Progress is answered with the number of more urgent tasks.
  queues: ['SendMessage', 'GetQueueAttributes'],
  relayChunkQueues: ['SendMessage'],
  content: CONTENT_ACTIONS,
} as const satisfies FunctionAccess;

/** API Gateway gives up after 30 s. A function that ends earlier can still send an error. */
const HTTP_TIMEOUT_S = 29;

const DISPATCH_ACCESS: FunctionAccess = {
  table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem'],
  // The webhooks of a project, the agents that Parley calls, and the tasks that wait for a limit.
  indexes: ['byList', 'byHolder'],
  queues: ['SendMessage'],
  relayQueues: ['SendMessage'],
  delayQueue: ['SendMessage'],
  bus: ['PutEvents'],
  content: [...CONTENT_ACTIONS, 'DeleteObjectTagging'],
  failures: ['PutObject'],
};

const RECEIVE_ACTIONS = ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility'] as const;

/** They use 80 MB after load: too close to 128 MB. Whoever waits without a waiter pays for the memory of `claims`. */
export const FUNCTIONS = {
  ingest: {
    memoryMB: 512,
    timeoutS: HTTP_TIMEOUT_S,
    access: INGEST_ACCESS,
  },
  /** What an agent asks all the time: tasks, with messages, and its inbox. */
  claims: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      ...INGEST_ACCESS,
      indexes: ['byList', 'byHolder'],
      queues: [...INGEST_ACCESS.queues, ...RECEIVE_ACTIONS],
    },
  },
  /** What is there of the work: tasks, batches, graphs, turns, cards, and what the relay carries. */
  tasks: {
    memoryMB: 512,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: INGEST_ACCESS.table,
      indexes: ['byList', 'byHolder', 'byCreation'],
      // A list of the queues counts what they hold, and a lease of a turn takes its task.
      queues: [...INGEST_ACCESS.queues, ...RECEIVE_ACTIONS],
      content: CONTENT_ACTIONS,
    },
  },
  /** All other calls: agents and keys, events, the console. For A2A and MCP it makes calls of the others itself. */
  api: {
    memoryMB: 512,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: INGEST_ACCESS.table,
      indexes: ['byList', 'byHolder', 'byCreation'],
      queues: [...INGEST_ACCESS.queues, ...RECEIVE_ACTIONS],
      content: CONTENT_ACTIONS,
    },
  },
  /** A whole core: it is bound by its CPU, so that a smaller share costs the same and takes longer. */
  dispatch: { memoryMB: 1769, timeoutS: 60, access: DISPATCH_ACCESS },
  /** Runs every minute and ends before the next run. Every five minutes it measures the queues. */
  sweep: {
    memoryMB: 256,
    timeoutS: 55,
    access: {
      table: READ_ACTIONS,
      indexes: ['due', 'byList', 'byHolder'],
      queues: ['GetQueueAttributes'],
      delayQueue: ['SendMessage'],
    },
  },
  due: {
    memoryMB: 256,
    timeoutS: 30,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
      indexes: ['byList', 'byHolder', 'byCreation'],
      // It claims for agents that it calls.
      queues: ['SendMessage', ...RECEIVE_ACTIONS],
      content: CONTENT_ACTIONS,
    },
  },
  'dead-letters': { memoryMB: 128, timeoutS: 30, access: { table: ['UpdateItem'], queues: ['SendMessage'] } },
  replay: {
    memoryMB: 256,
    timeoutS: 300,
    access: { ...DISPATCH_ACCESS, failures: ['GetObject', 'PutObject', 'DeleteObject'] },
  },
  'admin-key': { memoryMB: 128, timeoutS: 30, access: { table: ['UpdateItem'] } },
} as const satisfies Record<string, FunctionSpec>;

/** The waiter does what `claims` does. */
export const WAITER_ACCESS: FunctionAccess = FUNCTIONS.claims.access;

export type FunctionName = keyof typeof FUNCTIONS;
export const FUNCTION_NAMES = Object.keys(FUNCTIONS).filter((name): name is FunctionName => name in FUNCTIONS);

/** No alarm: the operator who calls them sees the result. */
export const MANUAL_FUNCTIONS: readonly FunctionName[] = ['admin-key'];

/** What waits where the stack has a waiter. */
export const WAITER_ROUTES: readonly string[] = ['POST /v1/claims', 'ANY /v1/inbox'];

export interface RouteSpec {
  method: 'ANY' | 'POST';
  path: string;
  to: FunctionName;
}

export const DEFAULT_ROUTE_FUNCTION: FunctionName = 'api';
export const ROUTES: readonly RouteSpec[] = [
  { method: 'POST', path: '/v1/messages', to: 'ingest' },
  { method: 'ANY', path: '/v1/messages/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/broadcasts/{proxy+}', to: 'tasks' },
  { method: 'POST', path: '/v1/claims', to: 'claims' },
  { method: 'ANY', path: '/v1/tasks', to: 'tasks' },
  { method: 'ANY', path: '/v1/tasks/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/operations', to: 'tasks' },
  { method: 'ANY', path: '/v1/operations/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/schedules', to: 'tasks' },
  { method: 'ANY', path: '/v1/schedules/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/dead-letters', to: 'tasks' },
  { method: 'ANY', path: '/v1/dead-letters/retry', to: 'tasks' },
  { method: 'ANY', path: '/v1/batches', to: 'tasks' },
  { method: 'ANY', path: '/v1/batches/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/graphs', to: 'tasks' },
  { method: 'ANY', path: '/v1/graphs/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/queues', to: 'tasks' },
  { method: 'ANY', path: '/v1/limits', to: 'tasks' },
  { method: 'ANY', path: '/v1/limits/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/stats', to: 'tasks' },
  { method: 'ANY', path: '/v1/queues/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/inbox', to: 'claims' },
  { method: 'ANY', path: '/v1/inbox/ack', to: 'claims' },
  { method: 'ANY', path: '/v1/agents', to: 'api' },
  { method: 'ANY', path: '/v1/agents/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/v1/capabilities', to: 'api' },
  { method: 'ANY', path: '/v1/keys', to: 'api' },
  { method: 'ANY', path: '/v1/keys/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/v1/relay/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/manifest', to: 'api' },
  { method: 'ANY', path: '/v1/violations', to: 'api' },
  { method: 'ANY', path: '/v1/webhooks', to: 'api' },
  { method: 'ANY', path: '/v1/webhooks/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/v1/gaps', to: 'api' },
  { method: 'ANY', path: '/v1/gaps/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/v1/tools', to: 'api' },
  { method: 'ANY', path: '/v1/tools/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/v1/cards', to: 'tasks' },
  { method: 'ANY', path: '/v1/cards/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/boxes', to: 'tasks' },
  { method: 'ANY', path: '/v1/boxes/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/a2a', to: 'api' },
  { method: 'ANY', path: '/a2a/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/.well-known/agent-card.json', to: 'api' },
  { method: 'ANY', path: '/.well-known/ai-catalog.json', to: 'api' },
  { method: 'ANY', path: '/mcp', to: 'api' },
  { method: 'ANY', path: '/mcp/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/console', to: 'api' },
  { method: 'ANY', path: '/console/{proxy+}', to: 'api' },
  { method: 'ANY', path: '/v1/turns', to: 'tasks' },
  { method: 'ANY', path: '/v1/turns/{proxy+}', to: 'tasks' },
];
