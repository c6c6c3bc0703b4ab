/** The indexes of the table by what they are for. */
export const INDEXES = ['byList', 'byHolder', 'due'] as const;
export type TableIndexName = (typeof INDEXES)[number];

type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';
type QueueAction = 'SendMessage' | 'ReceiveMessage' | 'DeleteMessage' | 'ChangeMessageVisibility';
type ObjectAction = 'GetObject' | 'PutObject' | 'PutObjectTagging' | 'DeleteObject' | 'DeleteObjectTagging';

/** All that a function may do, beside writing its own log. */
export interface FunctionAccess {
  table?: readonly TableAction[];
  /** Which indexes it may query. */
  indexes?: readonly TableIndexName[];
  /** Whoever sends to a lane also writes to the table that the lane is in use, and so may update items. */
  queues?: readonly QueueAction[];
  /** What goes to NATS. */
  relayQueues?: readonly QueueAction[];
  /** What may be lost on its way there: the queue of the lowest priority, and no other. */
  relayChunkQueues?: readonly QueueAction[];
  delayQueue?: readonly QueueAction[];
  bus?: readonly 'PutEvents'[];
  content?: readonly ObjectAction[];
  /** What the stream could not process. */
  failures?: readonly ObjectAction[];
}

export interface FunctionSpec {
  memoryMB: number;
  timeoutS: number;
  access: FunctionAccess;
}

const READ_ACTIONS = ['GetItem', 'BatchGetItem', 'Query'] as const;

/** What is put has a tag until the dispatcher finds the record that owns it. */
const CONTENT_ACTIONS = ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject'] as const;

/** What a message may bring about, whatever it says: whoever takes messages in may do all of it. */
const INGEST_ACCESS = {
  table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
  indexes: ['byHolder'],
  queues: ['SendMessage'],
  relayChunkQueues: ['SendMessage'],
  content: CONTENT_ACTIONS,
} as const satisfies FunctionAccess;

/** The HTTP API gives up after 30 s; a function that ends before it can still say why. */
const HTTP_TIMEOUT_S = 29;

const DISPATCH_ACCESS: FunctionAccess = {
  table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem'],
  queues: ['SendMessage'],
  relayQueues: ['SendMessage'],
  delayQueue: ['SendMessage'],
  bus: ['PutEvents'],
  content: [...CONTENT_ACTIONS, 'DeleteObjectTagging'],
};

/** Each is `functions/<name>.ts`. Claims, tasks and inbox take 80 MB once they are loaded, so that 128 MB would be too tight for them. */
export const FUNCTIONS = {
  ingest: {
    memoryMB: 512,
    timeoutS: HTTP_TIMEOUT_S,
    access: INGEST_ACCESS,
  },
  /** A claim may bring messages with it. */
  claims: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: { ...INGEST_ACCESS, queues: ['SendMessage', 'ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility'] },
  },
  tasks: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
      indexes: ['byList', 'byHolder'],
      queues: ['SendMessage'],
      content: CONTENT_ACTIONS,
    },
  },
  inbox: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem'],
      indexes: ['byList', 'byHolder'],
      content: CONTENT_ACTIONS,
    },
  },
  agents: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem'],
      indexes: ['byList', 'byHolder'],
      content: ['GetObject'],
    },
  },
  cards: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
      content: CONTENT_ACTIONS,
    },
  },
  relay: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem'],
      content: CONTENT_ACTIONS,
    },
  },
  turns: {
    memoryMB: 256,
    timeoutS: HTTP_TIMEOUT_S,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem'],
      indexes: ['byHolder'],
      queues: ['SendMessage', 'ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility'],
      content: CONTENT_ACTIONS,
    },
  },
  api: { memoryMB: 256, timeoutS: HTTP_TIMEOUT_S, access: { table: ['GetItem', 'Query', 'UpdateItem'] } },
  dispatch: { memoryMB: 256, timeoutS: 60, access: DISPATCH_ACCESS },
  /** It runs every minute and ends before the next. */
  sweep: {
    memoryMB: 128,
    timeoutS: 55,
    access: { indexes: ['due'], delayQueue: ['SendMessage'] },
  },
  /** It also moves tasks to the queue of a capability that somebody has come to declare, makes the tasks of a graph or a batch whose maker died half-way, and tells many agents what is for all of them. */
  due: {
    memoryMB: 256,
    timeoutS: 30,
    access: {
      table: [...READ_ACTIONS, 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
      indexes: ['byList', 'byHolder'],
      queues: ['SendMessage'],
      content: CONTENT_ACTIONS,
    },
  },
  'dead-letters': { memoryMB: 128, timeoutS: 30, access: { table: ['UpdateItem'], queues: ['SendMessage'] } },
  replay: {
    memoryMB: 256,
    timeoutS: 300,
    access: { ...DISPATCH_ACCESS, failures: ['GetObject', 'DeleteObject'] },
  },
  'admin-key': { memoryMB: 128, timeoutS: 30, access: { table: ['UpdateItem'] } },
} as const satisfies Record<string, FunctionSpec>;

export type FunctionName = keyof typeof FUNCTIONS;
export const FUNCTION_NAMES = Object.keys(FUNCTIONS).filter((name): name is FunctionName => name in FUNCTIONS);

/** An operator alone calls these and sees their answer: no alarm watches them. */
export const MANUAL_FUNCTIONS: readonly FunctionName[] = ['admin-key'];

export interface RouteSpec {
  method: 'ANY' | 'POST';
  path: string;
  to: FunctionName;
}

/** What no route takes goes to `DEFAULT_ROUTE_TO`, which also says 404 and 405. */
export const DEFAULT_ROUTE_FUNCTION: FunctionName = 'api';
export const ROUTES: readonly RouteSpec[] = [
  { method: 'POST', path: '/v1/messages', to: 'ingest' },
  { method: 'ANY', path: '/v1/messages/{proxy+}', to: 'inbox' },
  { method: 'ANY', path: '/v1/broadcasts/{proxy+}', to: 'inbox' },
  { method: 'POST', path: '/v1/claims', to: 'claims' },
  { method: 'ANY', path: '/v1/tasks', to: 'tasks' },
  { method: 'ANY', path: '/v1/tasks/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/dead-letters', to: 'tasks' },
  { method: 'ANY', path: '/v1/dead-letters/retry', to: 'tasks' },
  { method: 'ANY', path: '/v1/batches', to: 'tasks' },
  { method: 'ANY', path: '/v1/batches/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/graphs', to: 'tasks' },
  { method: 'ANY', path: '/v1/graphs/{proxy+}', to: 'tasks' },
  { method: 'ANY', path: '/v1/inbox', to: 'inbox' },
  { method: 'ANY', path: '/v1/inbox/ack', to: 'inbox' },
  { method: 'ANY', path: '/v1/agents', to: 'agents' },
  { method: 'ANY', path: '/v1/agents/{proxy+}', to: 'agents' },
  { method: 'ANY', path: '/v1/relay/{proxy+}', to: 'relay' },
  { method: 'ANY', path: '/v1/manifest', to: 'agents' },
  { method: 'ANY', path: '/v1/violations', to: 'agents' },
  { method: 'ANY', path: '/v1/gaps', to: 'agents' },
  { method: 'ANY', path: '/v1/gaps/{proxy+}', to: 'agents' },
  { method: 'ANY', path: '/v1/tools', to: 'agents' },
  { method: 'ANY', path: '/v1/tools/{proxy+}', to: 'agents' },
  { method: 'ANY', path: '/v1/cards', to: 'cards' },
  { method: 'ANY', path: '/v1/cards/{proxy+}', to: 'cards' },
  { method: 'ANY', path: '/v1/boxes', to: 'cards' },
  { method: 'ANY', path: '/v1/boxes/{proxy+}', to: 'cards' },
  { method: 'ANY', path: '/v1/turns', to: 'turns' },
  { method: 'ANY', path: '/v1/turns/{proxy+}', to: 'turns' },
];
