export type { Api, OperationName, OperationOptions } from './api/api.ts';
export type { Operations } from './api/operations.ts';
export type { Schemas } from './api/schemas.ts';
export type { Artifact } from './artifact.ts';
export type { BatchHandle, BatchItem, BatchOptions, Settled } from './batch.ts';
export {
  type ConnectOptions,
  connect,
  type InboxMessage,
  Parley,
  type ParleyEvent,
  type SendOptions,
} from './client.ts';
export type { Duration } from './duration.ts';
export type { Encryption } from './encryption.ts';
export { ConnectionError, Fail, ParleyError, Retry, TaskAborted, TaskFailed } from './errors.ts';
export type { Evidence, Extensions } from './extensions.ts';
export type { GraphHandle, GraphNode, GraphOptions } from './graph.ts';
export type { Json, JsonObject } from './json.ts';
export type {
  Outcome,
  RequestHandle,
  RequestOptions,
  ResultOptions,
  SingleRequestOptions,
  TaskLimit,
  TaskStatus,
} from './request.ts';
export { SchemaError, type StandardSchema } from './schema.ts';
export type { Signing } from './sign-calls.ts';
export type { Priority, Task } from './task.ts';
export type { CallTaskOptions, TaskContext } from './task-context.ts';
export type { CallOptions, ConnectionEvents, RetryNotice } from './transport.ts';
export type { Turn } from './turns/turn.ts';
export type { ForkedCall, ForkOptions, ForkResult, ToolCall, ToolOptions, TurnContext } from './turns/turn-context.ts';
export type { TurnChunk, TurnHandle, TurnOptions } from './turns/turn-handle.ts';
export type { TurnEvents, TurnHandler, TurnWorker, TurnWorkerOptions } from './turns/turn-worker.ts';
export type { Handler, RunOptions, Worker, WorkerEvents, WorkerOptions } from './worker.ts';
