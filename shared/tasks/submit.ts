import { find } from '../agents/authenticate.ts';
import { domainsOf } from '../config.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { inboxPk } from '../inbox/delivery.ts';
import { refuseTooLarge } from '../json/size.ts';
import type { Request } from '../messages/command.ts';
import type { Fresh } from '../ports/records.ts';
import { childOf, type Trace } from '../trace.ts';
import { hurry } from './change-task.ts';
import { discarded, kept } from './content.ts';
import { type Content, type Task, taskRef } from './task.ts';
import { firstLook } from './transitions.ts';

/** Makes the task, or finds that it is there already. The record itself keeps it from being made twice. */
export const submit = async (
  deps: Deps,
  project: string,
  dialect: string,
  request: Request,
  trace: Trace,
): Promise<{ duplicate: boolean }> => {
  const { inputBytes, carriedBytes } = deps.config.limits;
  refuseTooLarge('The input of the task', request.input, inputBytes);
  refuseTooLarge('What the message carries beside it', request.carried, carriedBytes);
  const unroutable = await whyUnroutable(deps, project, request);
  if (unroutable) {
    // What was accepted once stays accepted, though its addressee may be gone by now.
    const accepted = await deps.records.get(taskRef(project, request.taskId));
    if (accepted?.fingerprint === request.fingerprint) return { duplicate: true };
    throw unroutable;
  }
  const input = await kept(deps, project, request.taskId, request.input);
  const task = newTask(deps, project, dialect, request, input, trace);
  const created = await deps.records.create<Task>(task, deps.newId());
  if (created.outcome === 'written') {
    if (!created.again) await hurry(deps, { after: created.after });
    return { duplicate: false };
  }
  await discarded(deps.blobs, input);
  if (created.current?.fingerprint === request.fingerprint) return { duplicate: true };
  throw new ParleyError(
    'id_reused',
    `An earlier request with the id ${request.taskId} had other content, and every field counts, the timestamp too. Repeat a request unchanged; give a new one a new id.`,
  );
};

const whyUnroutable = async (
  deps: Deps,
  project: string,
  { to, domain }: Request,
): Promise<ParleyError | undefined> => {
  if (to !== undefined) {
    if (await find(deps, project, to)) return undefined;
    return new ParleyError('unknown_agent', `No agent ${to} is registered, so that nobody would ever get this task.`);
  }
  const known = domainsOf(deps.config, project);
  if (known.includes(domain)) return undefined;
  return new ParleyError('unknown_domain', `There is no domain ${domain}. Known: ${known.join(', ')}.`, {
    facts: { known },
  });
};

const newTask = (
  deps: Deps,
  project: string,
  dialect: string,
  request: Request,
  input: Content,
  trace: Trace,
): Fresh<Task> => {
  const now = deps.clock.now();
  const { maxAttempts } = deps.config.tasks;
  const deadline = now + request.ttlSeconds * 1000;
  return {
    ...taskRef(project, request.taskId),
    sk: 'task',
    project,
    id: request.taskId,
    dialect,
    status: 'requested',
    priority: request.priority,
    from: request.from,
    to: request.to,
    domain: request.domain,
    capability: request.capability,
    parent: request.parent,
    thread: request.thread,
    createdAt: now,
    ttlSeconds: request.ttlSeconds,
    deadline,
    entry: 1,
    queuedAt: now,
    resent: 0,
    attempt: 0,
    maxAttempts,
    input,
    carried: request.carried,
    told: request.told,
    fingerprint: request.fingerprint,
    ...childOf(trace),
    due: firstLook(now, deadline, deps.config.tasks),
    placed: { p: inboxPk(project, request.from) },
  };
};
