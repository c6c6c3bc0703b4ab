export {
  type ConnectOptions,
  connect,
  type InboxMessage,
  Parley,
  type ParleyEvent,
  type SendOptions,
} from './client.ts';
export type { Duration } from './duration.ts';
export { ConnectionError, Fail, ParleyError, Retry, TaskAborted, TaskFailed } from './errors.ts';
export type { Json, JsonObject } from './json.ts';
export type { RequestHandle, RequestOptions, ResultOptions, TaskStatus } from './request.ts';
export { SchemaError, type StandardSchema } from './schema.ts';
export type { Priority, Task } from './task.ts';
export type { CallTaskOptions, TaskContext } from './task-context.ts';
export type { CallOptions, ConnectionEvents, RetryNotice } from './transport.ts';
export type { Handler, Worker, WorkerEvents, WorkerOptions } from './worker.ts';
