import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { inboxPk } from '../inbox/delivery.ts';
import { refuseTooLarge } from '../json/size.ts';
import type { Request } from '../messages/command.ts';
import type { Fresh, Write, Written } from '../ports/records.ts';
import { childOf, type Trace } from '../trace.ts';
import { hurry } from './change-task.ts';
import { discarded, kept } from './content.ts';
import { lineageOf, linkWrites } from './lineage.ts';
import { wayFor } from './route-task.ts';
import { type Content, type Task, taskRef } from './task.ts';
import { firstLook } from './transitions.ts';

/** Makes the task, or finds that it is there already. The record itself keeps it from being made twice. */
export const submit = async (
  deps: Deps,
  caller: Caller,
  dialect: string,
  request: Request,
  trace: Trace,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  const { inputBytes, carriedBytes } = deps.config.limits;
  refuseTooLarge('The input of the task', request.input, inputBytes);
  refuseTooLarge('What the message carries beside it', request.carried, carriedBytes);
  const way = await wayFor(deps, project, request);
  const lineage = way instanceof Error ? way : await lineageOf(deps, caller, request);
  if (way instanceof Error || lineage instanceof Error) {
    // What was accepted once stays accepted, though its addressee may be gone by now.
    const accepted = await deps.records.get(taskRef(project, request.taskId));
    if (accepted?.fingerprint === request.fingerprint) return { duplicate: true };
    throw way instanceof Error ? way : lineage;
  }
  const input = await kept(deps, project, request.taskId, request.input);
  const task = { ...newTask(deps, project, dialect, request, input, trace), ...way, chain: lineage.chain };
  const created = await made(deps, task, lineage.parent);
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

const made = async (deps: Deps, task: Fresh<Task>, parent: Task | undefined): Promise<Written<Task>> => {
  const token = deps.newId();
  if (!parent) return deps.records.create<Task>(task, token);
  const at = deps.clock.now();
  const writes: Write[] = [{ kind: 'create', item: { ...task } }, ...linkWrites(parent, task.id, at)];
  const linked = await deps.records.transact(writes, token);
  if (linked.outcome === 'written') return { outcome: 'written', after: { ...task, v: 1, token, at } };
  const current = await deps.records.get(taskRef(task.project, task.id));
  if (current) return { outcome: 'refused', current };
  throw new ParleyError('task_cancelled', `The task ${parent.id}, of which this one would be a part, was cancelled.`);
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
    maxAttempts: request.maxAttempts ?? maxAttempts,
    retry: request.retry,
    input,
    carried: request.carried,
    told: request.told,
    fingerprint: request.fingerprint,
    ...childOf(request.trace ?? trace),
    due: firstLook(now, deadline, deps.config.tasks),
    placed: { p: inboxPk(project, request.from) },
  };
};
