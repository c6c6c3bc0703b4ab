import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError, STATUS_BY_CODE } from '../../kernel/errors.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import type { TaskCommand } from '../../model/command.ts';
import type { Task } from '../../model/task.ts';
import { equals } from '../../ports/conditions.ts';
import type { Item, NewItem, Ref } from '../../ports/records.ts';

/**
 * What one agent said under an id and a time, in protocols that know a message by these: whatever kind of message it was, it is
 * found here, and nothing else can be said under them.
 */
export interface IdempotencyRecord extends Item {
  fingerprint: string;
  /** The task that it was about. */
  taskId?: string;
}

/** The id of a request that is remembered longer than its task; undefined where the task itself is enough. */
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

/** Carries out a message, unless something else was said under its id and time. What is refused was never said. */
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
  // Heartbeats leave nothing but the last one, with the health of their sender.
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

/** What became of the same message when it came before. */
export const findPrior = async (
  deps: Deps,
  project: string,
  message: TaskCommand,
): Promise<IdempotencyRecord | undefined> => {
  const prior = message.sequenceInfo && (await deps.records.get(idempotencyRef(project, message.messageId)));
  if (prior) assertSameMessage(prior, message);
  return prior;
};
