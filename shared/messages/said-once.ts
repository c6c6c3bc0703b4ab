import { find } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { CODES, ParleyError } from '../errors.ts';
import { is } from '../ports/conditions.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { Command } from './command.ts';

/**
 * What one agent said under an id and a time, in protocols that know a message by these: whatever kind of message it was, it is
 * found here, and nothing else can be said under them.
 */
interface Said extends Item {
  fingerprint: string;
  /** The task that it was about. */
  taskId?: string;
}

const saidRef = (project: string, messageId: string): Ref<Said> => ({ pk: `${project}#said#${messageId}`, sk: 'said' });

/** Carries out a message, unless something else was said under its id and time. What is refused was never said. */
export const saidOnce = <T>(deps: Deps, project: string, message: Command, carryOut: () => Promise<T>): Promise<T> =>
  message.sent ? unlessOtherwiseSaid(deps, project, message, carryOut) : carryOut();

const unlessOtherwiseSaid = async <T>(
  deps: Deps,
  project: string,
  message: Command,
  carryOut: () => Promise<T>,
): Promise<T> => {
  // Heartbeats leave nothing but the last one, with the health of their sender.
  if (message.kind === 'heartbeat') {
    await saidBefore(deps, project, message);
    return carryOut();
  }
  const sender = await find(deps, project, message.from);
  if (sender?.health?.beat?.id === message.messageId) throw idReused(message);
  const token = deps.newId();
  const isFirst = await takenDown(deps, project, message, token);
  try {
    return await carryOut();
  } catch (error) {
    if (isFirst && error instanceof ParleyError && CODES[error.code] < 500) {
      const change = { if: is('token', token), set: { expires: deps.clock.now() } };
      await deps.records.update(saidRef(project, message.messageId), change, deps.newId());
    }
    throw error;
  }
};

/** Whoever said it first may be refused at this very moment, and wants to free what is taken down. */
const MOST_ATTEMPTS = 3;

/**
 * Whether it is said for the first time. The same again is written down as well: should the first be refused meanwhile, what this
 * one says stays.
 */
const takenDown = async (deps: Deps, project: string, message: Command, token: string): Promise<boolean> => {
  const { messageId, fingerprint } = message;
  const ref = saidRef(project, messageId);
  const expires = deps.clock.now() + deps.config.tasks.keepMs;
  const taskId = 'taskId' in message ? message.taskId : undefined;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const said = await deps.records.create<Said>({ ...ref, fingerprint, taskId, expires }, token);
    if (said.outcome === 'written') return true;
    if (said.current?.fingerprint !== fingerprint) throw idReused(message);
    const again = await deps.records.update(ref, { if: is('fingerprint', fingerprint), set: { expires } }, token);
    if (again.outcome === 'written') return false;
  }
  throw new ParleyError('conflict', `Too many say ${message.givenId ?? messageId} at once. Try again.`);
};

/** What became of the same message when it came before. */
export const saidBefore = async (deps: Deps, project: string, message: Command): Promise<Said | undefined> => {
  const said = message.sent && (await deps.records.get(saidRef(project, message.messageId)));
  if (said && said.fingerprint !== message.fingerprint) throw idReused(message);
  return said;
};

export const idReused = ({ messageId, givenId = messageId }: Pick<Command, 'messageId' | 'givenId'>): ParleyError =>
  new ParleyError(
    'id_reused',
    `An earlier message with the id ${givenId} had other content. Repeat a message unchanged; give a new one a new id.`,
  );
