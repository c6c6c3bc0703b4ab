import { isServedOverNats, listDomains } from '../config/project-settings.ts';
import { type AdminCaller, describeCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { formatPausableQueue, type PausableQueue, type QueuePauses, queuePausesRef } from '../identity/queue-pauses.ts';
import { ParleyError } from '../kernel/errors.ts';

/** One record holds them, and every claim reads it. */
const MAX_PAUSED_QUEUES = 100;

export const pauseQueue = async (
  deps: Deps,
  caller: AdminCaller,
  queue: PausableQueue,
  reason: string | undefined,
): Promise<void> => {
  const { project } = caller;
  assertPausable(deps, project, queue);
  const ref = queuePausesRef(project);
  const id = formatPausableQueue(queue);
  const known = await deps.records.get(ref);
  if (!known)
    await deps.records.create<QueuePauses>({ pk: ref.pk, sk: 'queue-pauses', project, paused: {} }, deps.newId());
  const { paused = {} } = known ?? {};
  if (!Object.hasOwn(paused, id)) {
    if (Object.keys(paused).length >= MAX_PAUSED_QUEUES) throw tooManyPausesError();
    const pause = { by: describeCaller(caller), since: deps.clock.now(), ...(reason !== undefined && { reason }) };
    await deps.records.update(ref, { set: { [`paused.${id}`]: pause } }, deps.newId());
  }
  deps.directory.invalidatePausedQueues(project);
};

export const resumeQueue = async (deps: Deps, { project }: AdminCaller, queue: PausableQueue): Promise<void> => {
  assertPausable(deps, project, queue);
  const change = { unset: [`paused.${formatPausableQueue(queue)}`] };
  await deps.records.update(queuePausesRef(project), change, deps.newId());
  deps.directory.invalidatePausedQueues(project);
};

const assertPausable = ({ config }: Deps, project: string, { kind, name }: PausableQueue): void => {
  if (kind === 'agent') {
    throw new ParleyError('invalid_request', `The queue of an agent is paused with it: POST /v1/agents/${name}/pause.`);
  }
  if (kind !== 'domain') return;
  const known = listDomains(config, project);
  if (!known.includes(name)) {
    throw new ParleyError('unknown_domain', `No such domain: ${name}. Known: ${known.join(', ')}.`, {
      details: { known },
    });
  }
  if (isServedOverNats(config, project, name)) {
    throw new ParleyError(
      'invalid_request',
      `Tasks of ${name} go to NATS as they come, and wait in no queue of Parley.`,
    );
  }
};

const tooManyPausesError = (): ParleyError =>
  new ParleyError(
    'too_large',
    `A project has at most ${MAX_PAUSED_QUEUES} paused queues. Pause their domain instead.`,
    {
      details: { limit: MAX_PAUSED_QUEUES },
    },
  );
