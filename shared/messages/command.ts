import type { Heartbeat } from '../agents/health.ts';
import type { Json, JsonObject } from '../json/json.ts';
import type { Priority } from '../ports/queues.ts';
import type { Progress, TaskError } from '../tasks/task.ts';

interface Message {
  messageId: string;
  /** Tells a repeated message from another one under the same id. */
  fingerprint: string;
  from: string;
}

export interface Request extends Message {
  kind: 'request';
  taskId: string;
  to?: string;
  capability: string;
  domain: string;
  priority: Priority;
  ttlSeconds: number;
  parent?: string;
  input: Json;
  carried: JsonObject;
}

/** A message about a task that is there already. */
interface About extends Message {
  taskId: string;
  attempt?: number;
}

export interface ClaimMessage extends About {
  kind: 'claim';
  note: JsonObject;
}

export interface ProgressMessage extends About {
  kind: 'progress';
  progress: Omit<Progress, 'at'>;
}

export interface CompleteMessage extends About {
  kind: 'complete';
  output: Json;
  carried: JsonObject;
}

export interface FailMessage extends About {
  kind: 'fail';
  error: TaskError;
  carried: JsonObject;
}

export interface HeartbeatMessage extends Message {
  kind: 'heartbeat';
  heartbeat: Heartbeat;
}

/** A message to another agent that is no task. */
export interface NoteMessage extends Message {
  kind: 'note';
  to: string;
  /** What it is, with its dialect: `agent-os.gap`. */
  type: string;
  priority: Priority;
  ttlSeconds: number;
  /** The message or task that it belongs to. */
  correlation?: string;
  content: Json;
  carried: JsonObject;
}

/** What a message of any dialect asks for. */
export type TaskReport = ClaimMessage | ProgressMessage | CompleteMessage | FailMessage;
export type Command = Request | TaskReport | HeartbeatMessage | NoteMessage;
