import { type Caller, find } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { dialectOf } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { idFrom } from '../ids.ts';
import { inboxPk } from '../inbox/delivery.ts';
import { fingerprint } from '../json/fingerprint.ts';
import type { JsonObject } from '../json/json.ts';
import { sized } from '../json/size.ts';
import type { Request } from '../messages/command.ts';
import { loggedDialectOf } from '../messages/is-logged.ts';
import {
  type Flaw,
  flawsIn,
  refusalOf,
  requestIn,
  type Seed,
  SOW_AGAIN_MS,
  type Sower,
  spelled,
} from '../seeds/sow.ts';
import { discarded, kept } from '../tasks/content.ts';
import type { Trace } from '../trace.ts';
import { turnIn } from '../turns/asked-turn.ts';
import { type Batch, batchRef, type Part } from './batch.ts';
import { begun } from './batch-changes.ts';

export interface NewBatch {
  id?: string;
  from: string;
  /** Requests of any dialect. */
  messages: JsonObject[];
  /** The dialect that the sender named, if any. */
  dialect?: string;
  failFast: boolean;
  deadlineSeconds: number;
  trace: Trace;
}

/** Accepts all of the requests or none. Their tasks are made before this resolves or, should it die, a little later. */
export const submitBatch = async (
  deps: Deps,
  caller: Caller,
  wanted: NewBatch,
): Promise<{ duplicate: boolean; batch: Batch }> => {
  const { from, messages, failFast, deadlineSeconds, trace } = wanted;
  const { project } = caller;
  const print = fingerprint([from, messages, failFast, deadlineSeconds]);
  const id = wanted.id ?? idFrom(`batch/${print}`);
  const ref = batchRef(project, id);
  const earlier = await deps.records.get(ref);
  if (earlier) return repeated(deps, earlier, print);
  const { seeds, flaws } = seedsOf(wanted, id);
  flaws.push(...(await flawsIn(deps, caller, { from, trace }, seeds, pathOf)));
  if (flaws.length > 0) throw refusalOf('The batch', flaws);
  const asked = seeds.map((seed) => askedBy(deps, { project, from, trace }, seed));
  refuseRepeated(asked.map(({ part, name }) => `${part.kind} ${name}`));
  refuseAwaited(asked);
  const parts = asked.map(({ part }) => part);
  const whole = await Promise.all(
    seeds.map((seed, n) => (asked[n]?.request ? spelled(deps, caller, from, seed) : seed)),
  );
  const content = await kept(deps, project, id, sized(whole));
  const requester = await find(deps, project, from);
  const now = deps.clock.now();
  const deadline = now + deadlineSeconds * 1000;
  const made = await deps.records.create<Batch>(
    {
      ...ref,
      sk: 'batch',
      project,
      id,
      from,
      status: 'open',
      parts,
      open: Object.fromEntries(parts.map((_, n) => [n, true])),
      left: parts.length,
      ends: {},
      failFast,
      deadline,
      seeds: content,
      fingerprint: print,
      createdAt: now,
      ...trace,
      heardIn: requester && loggedDialectOf(deps.config, requester.agent),
      due: Math.min(deadline, now + SOW_AGAIN_MS),
      ...(requester?.agent.via === 'nats' ? { toNats: true } : { placed: { p: inboxPk(project, from) } }),
    },
    deps.newId(),
  );
  if (made.outcome === 'written') {
    await begun(deps, made.after);
    return { duplicate: false, batch: made.after };
  }
  await discarded(deps.blobs, [content], [made.current?.seeds]);
  if (!made.current) throw new ParleyError('conflict', `The batch ${id} is no longer kept. Try again.`);
  return repeated(deps, made.current, print);
};

/** The part that a message becomes, and what its sender calls it. */
interface Asked {
  part: Part;
  name: string;
  /** Absent for a turn. */
  request?: Request;
}

const askedBy = (deps: Deps, sower: Sower, seed: Seed): Asked => {
  const turn = turnIn(deps, sower, seed);
  if (turn) return { part: { kind: 'turn', id: turn.id }, name: turn.correlation };
  const request = requestIn(deps, sower.from, seed);
  return { part: { kind: 'task', id: request.taskId }, name: request.taskId, request };
};

const pathOf = ({ joins }: Seed): string => `tasks[${joins?.child}]`;

/** What has the shape of no dialect is wrong already. */
const seedsOf = ({ messages, dialect }: NewBatch, batch: string): { seeds: Seed[]; flaws: Flaw[] } => {
  const seeds: Seed[] = [];
  const flaws: Flaw[] = [];
  for (const [child, message] of messages.entries()) {
    const joins = { batch, child };
    try {
      seeds.push({ dialect: dialectOf(message, dialect).name, message, joins });
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      flaws.push({ path: `tasks[${child}]`, error });
    }
  }
  return { seeds, flaws };
};

const refuseRepeated = (names: string[]): void => {
  const flaws = names.flatMap((name, child): Flaw[] =>
    names.indexOf(name) < child
      ? [{ path: `tasks[${child}]`, error: new ParleyError('id_reused', `The ${name} is in the batch already.`) }]
      : [],
  );
  if (flaws.length > 0) throw refusalOf('The batch', flaws);
};

/** They run side by side. */
const refuseAwaited = (asked: Asked[]): void => {
  const names = new Set(asked.flatMap(({ name, request }) => [name, request?.givenId]));
  const flaws = asked.flatMap(({ request }, child): Flaw[] => {
    const own = [...(request?.waitsFor ?? []), ...(request?.waitsForShort ?? [])].find((name) => names.has(name));
    const why = `It waits for ${own} of the same batch, whose tasks run side by side. POST /v1/graphs takes tasks that wait for each other.`;
    return own === undefined ? [] : [{ path: `tasks[${child}]`, error: new ParleyError('unknown_dependency', why) }];
  });
  if (flaws.length > 0) throw refusalOf('The batch', flaws);
};

const repeated = async (deps: Deps, batch: Batch, print: string): Promise<{ duplicate: boolean; batch: Batch }> => {
  if (batch.fingerprint !== print) {
    throw new ParleyError(
      'id_reused',
      `An earlier batch with the id ${batch.id} had other content. Repeat a batch unchanged; give a new one a new id.`,
    );
  }
  await begun(deps, batch);
  return { duplicate: true, batch };
};
