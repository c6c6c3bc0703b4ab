import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError, STATUS_BY_CODE } from '../../kernel/errors.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import type { TaskCommand } from '../../model/command.ts';
import type { Task } from '../../model/task.ts';
import { equals } from '../../ports/conditions.ts';
import type { Item, NewItem, Ref } from '../../ports/records.ts';

/** Stored under the message id in dialects that number messages, whatever kind of message it was. */
export interface IdempotencyRecord extends Item {
  fingerprint: string;
  taskId?: string;
}

/** For a request that is remembered longer than its task; undefined if the task suffices. */
export const buildRememberedId = (
  { config, clock }: Deps,
  { project, id, fingerprint }: Pick<Task, 'project' | 'id' | 'fingerprint'>,
): NewItem<IdempotencyRecord> | undefined => {
  const { rememberMs = 0, retentionMs } = config.tasks;
  if (rememberMs <= retentionMs) return undefined;
  const key = { pk: `${project}#remembered#${id}`, sk: 'idempotency' };
  return { ...key, fingerprint, taskId: id, expires: clock.now() + rememberMs };
};

const idempotencyRef = (project: string, messageId: string): Ref<IdempotencyRecord> => ({
  pk: `${project}#idempotency#${messageId}`,
  sk: 'idempotency',
});

/** Executes a message unless another one has its id. A rejected message frees its id. */
export const deduplicate = <T>(
  deps: Deps,
  project: string,
  message: TaskCommand,
  execute: () => Promise<T>,
): Promise<T> => (message.sequenceInfo ? executeWithReservedKey(deps, project, message, execute) : execute());

const executeWithReservedKey = async <T>(
  deps: Deps,
  project: string,
  message: TaskCommand,
  execute: () => Promise<T>,
): Promise<T> => {
  // A heartbeat is stored only with the health of its sender.
  if (message.kind === 'heartbeat') {
    await findPrior(deps, project, message);
    return execute();
  }
  const sender = await findAgent(deps, project, message.from);
  const { lastHeartbeat } = sender?.health ?? {};
  if (lastHeartbeat?.id === message.messageId) assertSameMessage(lastHeartbeat, message);
  const token = deps.newId();
  const isFirst = await reserveKey(deps, project, message, token);
  try {
    return await execute();
  } catch (error) {
    if (isFirst && error instanceof ParleyError && STATUS_BY_CODE[error.code] < 500) {
      const change = { if: equals('token', token), set: { expires: deps.clock.now() } };
      await deps.records.update(idempotencyRef(project, message.messageId), change, deps.newId());
    }
    throw error;
  }
};

/** The sender of the first one may be rejected at this moment, and frees the key. */
const KEY_RETRIES = { attempts: 3 };

/** Whether the key is new. A repetition is recorded too, so that it stays if the first one is rejected meanwhile. */
const reserveKey = async (deps: Deps, project: string, message: TaskCommand, token: string): Promise<boolean> => {
  const { messageId, fingerprint } = message;
  const ref = idempotencyRef(project, messageId);
  const expires = deps.clock.now() + deps.config.tasks.retentionMs;
  const taskId = 'taskId' in message ? message.taskId : undefined;
  return retryOnConflict(`the message ${message.givenId ?? messageId}`, KEY_RETRIES, async () => {
    const created = await deps.records.create<IdempotencyRecord>({ ...ref, fingerprint, taskId, expires }, token);
    if (created.outcome === 'written') return true;
    assertSameMessage(created.existing, message);
    const again = await deps.records.update(ref, { if: equals('fingerprint', fingerprint), set: { expires } }, token);
    return again.outcome === 'written' ? false : undefined;
  });
};

/** The record of an earlier identical message. */
export const findPrior = async (
  deps: Deps,
  project: string,
  message: TaskCommand,
): Promise<IdempotencyRecord | undefined> => {
  const prior = message.sequenceInfo && (await deps.records.get(idempotencyRef(project, message.messageId)));
  if (prior) assertSameMessage(prior, message);
  return prior;
};
