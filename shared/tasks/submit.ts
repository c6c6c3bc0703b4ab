import type { Agent } from '../agents/agent.ts';
import { type Caller, find } from '../agents/authenticate.ts';
import { batchEnded, batchRef } from '../batches/batch.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Json } from '../json/json.ts';
import { refuseTooLarge, type Sized } from '../json/size.ts';
import type { Request } from '../messages/command.ts';
import { loggedDialectOf } from '../messages/is-logged.ts';
import { is } from '../ports/conditions.ts';
import type { Fresh, Item, Write, Written } from '../ports/records.ts';
import { childOf, type Trace } from '../trace.ts';
import { hurry } from './change-task.ts';
import { discarded, isLarge, kept, unlessRefused } from './content.ts';
import { awaitedBy, heldBack, waiterWrites } from './dependencies.ts';
import { firstLook, inboxPlace } from './ends.ts';
import { type Lineage, lineageOf, linkWrites } from './lineage.ts';
import { type Way, wayFor } from './route-task.ts';
import { shortNameOf } from './short-names.ts';
import { type Content, type Task, taskRef, unacknowledgedPlace } from './task.ts';

/** What is written together with a task or a turn, and on which that depends. */
export interface Proviso {
  writes: Write[];
  /** Why nothing was written, if it was for one of them, by its number. */
  refused(at: number, current?: Item): ParleyError;
}

/** Makes the task, or finds that it is there already. The record itself keeps it from being made twice. */
export const submit = async (
  deps: Deps,
  caller: Caller,
  dialect: string,
  request: Request,
  trace: Trace,
  proviso?: Proviso,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  const asked = refuseLarge(deps, request);
  const origin = await originOf(deps, caller, request);
  if (origin instanceof Error) {
    // What was accepted once stays accepted, though its addressee may be gone by now.
    const accepted = await deps.records.get(taskRef(project, request.taskId));
    if (accepted?.fingerprint === request.fingerprint) return { duplicate: true };
    throw origin;
  }
  // What is large is stored only for a task that is new as things are.
  const earlier = isLarge(asked) ? await deps.records.get(taskRef(project, request.taskId)) : undefined;
  if (earlier) return repeated(earlier, request);
  const input = await kept(deps, project, request.taskId, asked);
  const requester = await find(deps, project, request.from);
  const task = newTask(deps, { project, dialect, request, input, trace, origin, requester: requester?.agent });
  const [created] = await Promise.all([
    unlessRefused(deps.blobs, [input], () => made(deps, task, origin, proviso)),
    nameShortly(deps, task, request),
  ]);
  if (created.outcome === 'written') {
    if (!created.again) await hurry(deps, { after: created.after });
    return { duplicate: false };
  }
  await discarded(deps.blobs, [input], [created.current?.input]);
  return repeated(created.current, request);
};

const repeated = (earlier: Task | undefined, request: Request): { duplicate: boolean } => {
  if (earlier?.fingerprint === request.fingerprint) return { duplicate: true };
  throw new ParleyError(
    'id_reused',
    `An earlier request with the id ${request.taskId} had other content, and every field counts, the timestamp too. Repeat a request unchanged; give a new one a new id.`,
  );
};

/** What is for one instance is looked at before that one could be gone for long. */
const whileLive = ({ clock, config }: Deps, { instance }: Way): { due?: number } =>
  instance === undefined ? {} : { due: clock.now() + config.agents.instanceMs };

/** The input with its size. */
export const refuseLarge = ({ config }: Deps, { input, carried }: Request): Sized<Json> => {
  const { inputBytes, carriedBytes } = config.limits;
  const asked = refuseTooLarge('The input of the task', input, inputBytes);
  refuseTooLarge('What the message carries beside it', carried, carriedBytes);
  return asked;
};

/** Where a task goes, where it comes from, and what it must wait for. */
interface Origin {
  way: Way;
  lineage: Lineage;
  awaited: Task[];
}

const originOf = async (deps: Deps, caller: Caller, request: Request): Promise<Origin | ParleyError> => {
  const way = await wayFor(deps, caller.project, request);
  if (way instanceof Error) return way;
  const lineage = await lineageOf(deps, caller, request);
  if (lineage instanceof Error) return lineage;
  const awaited = request.waitsFor ? await awaitedBy(deps, caller, request.waitsFor) : [];
  return awaited instanceof Error ? awaited : { way, lineage, awaited };
};

/** The same name again is refused, which is as good. */
const nameShortly = async (deps: Deps, task: Fresh<Task>, { sent }: Request): Promise<void> => {
  if (sent) await deps.records.create(shortNameOf(task, sent.to, sent.at, task.createdAt), deps.newId());
};

const made = async (
  deps: Deps,
  task: Fresh<Task>,
  { lineage, awaited }: Origin,
  proviso?: Proviso,
): Promise<Written<Task>> => {
  const token = deps.newId();
  const at = deps.clock.now();
  const { parent } = lineage;
  const toParent = parent ? linkWrites(parent, task.id, at) : [];
  // A batch that has ended stops what it has, so that it must not be given more.
  const inBatch: Write[] = task.joins
    ? [{ kind: 'check', key: batchRef(task.project, task.joins.batch), if: is('status', 'open') }]
    : [];
  const awaits = waiterWrites(awaited, task.id, at);
  const links = [...toParent, ...inBatch, ...awaits, ...(proviso?.writes ?? [])];
  if (links.length === 0) return deps.records.create<Task>(task, token);
  const linked = await deps.records.transact([{ kind: 'create', item: { ...task } }, ...links], token);
  if (linked.outcome === 'written') return { outcome: 'written', after: { ...task, v: 1, token, at } };
  const current = await deps.records.get(taskRef(task.project, task.id));
  if (current) return { outcome: 'refused', current };
  if (linked.at <= toParent.length) {
    throw new ParleyError('cancelled', `The task ${parent?.id}, of which this one would be a part, was cancelled.`);
  }
  if (task.joins && linked.at <= toParent.length + inBatch.length) throw batchEnded(task.joins.batch);
  const ofProviso = linked.at - 1 - toParent.length - inBatch.length - awaits.length;
  if (proviso && ofProviso >= 0) throw proviso.refused(ofProviso, linked.current);
  throw new ParleyError('conflict', 'A task that this one would wait for is no longer kept. Try again.');
};

interface Asked {
  project: string;
  dialect: string;
  request: Request;
  input: Content;
  trace: Trace;
  origin: Origin;
  /** Absent where it is no longer registered. */
  requester: Agent | undefined;
}

const newTask = (
  deps: Deps,
  { project, dialect, request, input, trace, origin: { way, lineage, awaited }, requester }: Asked,
): Fresh<Task> => {
  const now = deps.clock.now();
  const { maxAttempts } = deps.config.tasks;
  const deadline = now + request.ttlSeconds * 1000;
  const acknowledgeBy = request.acknowledgeMs && now + request.acknowledgeMs;
  const { traceparent, tracestate } = childOf(request.trace ?? trace);
  const fromNats = requester?.via === 'nats' && !request.joins ? true : undefined;
  return {
    pk: taskRef(project, request.taskId).pk,
    sk: 'task',
    project,
    id: request.taskId,
    dialect,
    status: 'requested',
    priority: request.priority,
    from: request.from,
    capability: request.capability,
    parent: request.parent,
    fromInstance: request.fromInstance,
    conversation: request.conversation,
    thread: request.thread,
    waitsFor: request.waitsFor,
    onFailure: request.onFailure,
    joins: request.joins,
    graph: request.graph,
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
    traceparent,
    tracestate,
    due: firstLook(now, Math.min(deadline, acknowledgeBy ?? deadline), deps.config.tasks),
    acknowledgeBy,
    held: acknowledgeBy === undefined ? undefined : unacknowledgedPlace(project, request.from, now, request.taskId),
    placed: inboxPlace({ project, from: request.from, joins: request.joins, fromNats }),
    fromNats,
    chain: lineage.chain,
    answeredIn: requester && !request.told ? loggedDialectOf(deps.config, requester) : undefined,
    ...way,
    ...whileLive(deps, way),
    ...heldBack(awaited, now),
  };
};
