import * as z from 'zod';
import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { type Issue, ParleyError } from '../errors.ts';
import { jsonObject } from '../json/checked.ts';
import { fingerprint } from '../json/fingerprint.ts';
import type { Request } from '../messages/command.ts';
import { spelledOut } from '../messages/meant.ts';
import { withTold } from '../messages/receive.ts';
import { saidBefore, saidOnce } from '../messages/said-once.ts';
import { counted } from '../sequences/sequence.ts';
import { loaded } from '../tasks/content.ts';
import { lineageOf } from '../tasks/lineage.ts';
import { wayFor } from '../tasks/route-task.ts';
import { refuseLarge, submit } from '../tasks/submit.ts';
import { type Content, ON_FAILURE, taskRef } from '../tasks/task.ts';
import type { Trace } from '../trace.ts';
import { turnIn } from '../turns/asked-turn.ts';
import { enqueue, toEnqueue } from '../turns/enqueue.ts';

/**
 * Requests that were accepted together and become tasks one after the other. They are kept, as they were sent, in the record
 * that stands for all of them, until each is a task; whoever dies in between leaves the rest to that record's due time.
 */
const Seed = z.object({
  dialect: z.string(),
  message: jsonObject,
  /** Told here where the message has no place for it, or only a short name. */
  waitsFor: z.array(z.string()).optional(),
  parent: z.string().optional(),
  onFailure: z.enum(ON_FAILURE).optional(),
  /** Of which graph it is a node: the same request in another one is another request. */
  graph: z.string().optional(),
  /** Which child of which batch it is. */
  joins: z.object({ batch: z.string(), child: z.number() }).optional(),
});
export type Seed = z.output<typeof Seed>;
const Seeds = z.array(Seed);

/** When to go on with what somebody began to sow and did not finish. */
export const SOW_AGAIN_MS = 30_000;

/** The request that a seed becomes. Under its id only this very one is a duplicate, not the same message sent alone. */
export const requestIn = (deps: Deps, from: string, { dialect, message, graph, ...rest }: Seed): Request => {
  const spoken = dialectNamed(dialect);
  const command = withTold(deps, spoken, message, spoken.decode(message, deps.config, from));
  if (command.kind !== 'request') throw new ParleyError('invalid_message', 'Only requests can be asked for here.');
  return { ...command, ...rest, graph, fingerprint: fingerprint([command.fingerprint, graph, rest]) };
};

/** With what the message calls shortly by its whole name: what that is now, whenever the task is made. */
export const spelled = async (deps: Deps, caller: Caller, from: string, seed: Seed): Promise<Seed> => {
  const { waitsFor, parent } = await spelledOut(deps, caller, requestIn(deps, from, seed));
  return { ...seed, ...(waitsFor && { waitsFor }), ...(parent !== undefined && { parent }) };
};

/** What is wrong with the requests, as far as that can be said before they are made. */
export const flawsIn = async (
  deps: Deps,
  caller: Caller,
  asked: Omit<Sower, 'project'>,
  seeds: Seed[],
  pathOf: (seed: Seed, at: number) => string,
): Promise<Flaw[]> => {
  const errors = await Promise.all(
    seeds.map(async (seed) => {
      try {
        const turn = turnIn(deps, { ...asked, project: caller.project }, seed);
        if (!turn) return await objectionTo(deps, caller, asked.from, requestIn(deps, asked.from, seed));
        await toEnqueue(deps, caller, turn);
        return undefined;
      } catch (error) {
        if (error instanceof ParleyError && error.retry === 'never') return error;
        throw error;
      }
    }),
  );
  return seeds.flatMap((seed, at) => {
    const error = errors[at];
    return error ? [{ path: pathOf(seed, at), error }] : [];
  });
};

const objectionTo = async (
  deps: Deps,
  caller: Caller,
  from: string,
  request: Request,
): Promise<ParleyError | undefined> => {
  if (request.from !== from) return new ParleyError('from_mismatch', `It is from ${request.from}, not from ${from}.`);
  refuseLarge(deps, request);
  const way = await wayFor(deps, caller.project, request);
  if (way instanceof Error) return way;
  const lineage = await lineageOf(deps, caller, request);
  if (lineage instanceof Error) return lineage;
  await saidBefore(deps, caller.project, request);
  const there = await deps.records.get(taskRef(caller.project, request.taskId));
  if (!there || there.fingerprint === request.fingerprint) return undefined;
  return new ParleyError('id_reused', `There is another task with the id ${request.taskId}. Give a new one a new id.`);
};

/** Something that is wrong with a part of what was asked for. */
export interface Flaw {
  path: string;
  error: ParleyError;
}

/** All that is wrong, in one refusal: with the first error's code, and each as an issue. */
export const refusalOf = (what: string, wrong: Flaw[]): ParleyError => {
  const [first] = wrong;
  const issues = wrong.flatMap(({ path, error }): Issue[] =>
    error.issues?.length
      ? error.issues.map((issue) => ({ path: `${path}.${issue.path}`, message: issue.message }))
      : [{ path, message: error.message }],
  );
  const paths = wrong.map(({ path }) => path).join(', ');
  return new ParleyError(first?.error.code ?? 'invalid_request', `${what} cannot be accepted: ${paths}.`, {
    issues,
    facts: first?.error.facts,
  });
};

export interface Sower {
  project: string;
  from: string;
  trace: Trace;
}

export interface Refused {
  id: string;
  seed: Seed;
  error: ParleyError;
}

/**
 * Makes tasks and turns of the seeds, each after those that it waits for. It may be called again. What is refused, though it
 * could be accepted when it was asked for, is told; whatever else goes wrong is thrown, and the rest is left for the next time.
 */
export const sow = async (deps: Deps, sower: Sower, kept: Content): Promise<Refused[]> => {
  const seeds = Seeds.parse(await loaded(deps.blobs, sower.project, kept));
  const refused: Refused[] = [];
  const sown = new Map<string, Promise<void>>();
  for (const seed of seeds) {
    const { id, waitsFor, make } = sproutOf(deps, sower, seed);
    const earlier = waitsFor.flatMap((other) => sown.get(other) ?? []);
    const made = Promise.all(earlier).then(async () => {
      try {
        await make();
      } catch (error) {
        if (!(error instanceof ParleyError && error.retry === 'never')) throw error;
        refused.push({ id, seed, error });
      }
    });
    sown.set(id, made);
  }
  const outcomes = await Promise.allSettled(sown.values());
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) throw failure.reason;
  return refused;
};

/** What a seed becomes: a task, or a turn. */
interface Sprout {
  id: string;
  waitsFor: string[];
  make: () => Promise<void>;
}

const sproutOf = (deps: Deps, sower: Sower, seed: Seed): Sprout => {
  const { project, from, trace } = sower;
  // What its sender may see and call was checked when it was accepted.
  const anybody: Caller = { project, role: 'admin' };
  const turn = turnIn(deps, sower, seed);
  if (turn) {
    const make = async () => {
      await enqueue(deps, anybody, turn);
    };
    return { id: turn.id, waitsFor: [], make };
  }
  const request = requestIn(deps, from, seed);
  const make = async () => {
    const { duplicate } = await saidOnce(deps, project, request, () =>
      submit(deps, anybody, seed.dialect, request, trace),
    );
    if (request.sent) await counted(deps, project, request, duplicate);
  };
  return { id: request.taskId, waitsFor: request.waitsFor ?? [], make };
};
