import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError, STATUS_BY_CODE } from '../../kernel/errors.ts';
import { idReusedError } from '../../kernel/id-reused-error.ts';
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
  carryOut: () => Promise<T>,
): Promise<T> => (message.sequenceInfo ? executeWithReservedKey(deps, project, message, carryOut) : carryOut());

const executeWithReservedKey = async <T>(
  deps: Deps,
  project: string,
  message: TaskCommand,
  carryOut: () => Promise<T>,
): Promise<T> => {
  // Heartbeats leave nothing but the last one, with the health of their sender.
  if (message.kind === 'heartbeat') {
    await findPrior(deps, project, message);
    return carryOut();
  }
  const sender = await findAgent(deps, project, message.from);
  if (sender?.health?.lastHeartbeat?.id === message.messageId) throw idReusedError(message);
  const token = deps.newId();
  const isFirst = await reserveKey(deps, project, message, token);
  try {
    return await carryOut();
  } catch (error) {
    if (isFirst && error instanceof ParleyError && STATUS_BY_CODE[error.code] < 500) {
      const change = { if: equals('token', token), set: { expires: deps.clock.now() } };
      await deps.records.update(idempotencyRef(project, message.messageId), change, deps.newId());
    }
    throw error;
  }
};

/** Whoever said it first may be refused at this very moment, and wants to free what is taken down. */
const MAX_ATTEMPTS = 3;

/**
 * Whether it is said for the first time. The same again is written down as well: should the first be refused meanwhile, what this
 * one says stays.
 */
const reserveKey = async (deps: Deps, project: string, message: TaskCommand, token: string): Promise<boolean> => {
  const { messageId, fingerprint } = message;
  const ref = idempotencyRef(project, messageId);
  const expires = deps.clock.now() + deps.config.tasks.retentionMs;
  const taskId = 'taskId' in message ? message.taskId : undefined;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const said = await deps.records.create<IdempotencyRecord>({ ...ref, fingerprint, taskId, expires }, token);
    if (said.outcome === 'written') return true;
    if (said.existing?.fingerprint !== fingerprint) throw idReusedError(message);
    const again = await deps.records.update(ref, { if: equals('fingerprint', fingerprint), set: { expires } }, token);
    if (again.outcome === 'written') return false;
  }
  throw new ParleyError('conflict', `Too many say ${message.givenId ?? messageId} at once. Try again.`);
};

/** What became of the same message when it came before. */
export const findPrior = async (
  deps: Deps,
  project: string,
  message: TaskCommand,
): Promise<IdempotencyRecord | undefined> => {
  const said = message.sequenceInfo && (await deps.records.get(idempotencyRef(project, message.messageId)));
  if (said && said.fingerprint !== message.fingerprint) throw idReusedError(message);
  return said;
};
