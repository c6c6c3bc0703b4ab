import type { Agent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Note } from '../notes/note.ts';
import { above, below, type Change, present } from '../ports/conditions.ts';
import type { Fresh, Item, Records, Ref, Write } from '../ports/records.ts';
import { sortable } from '../tasks/task.ts';

/** How many notes wait in an inbox that has a limit, and how many had to go for others. It stands before all that arrived. */
export interface Depth extends Item {
  sk: '#depth';
  count: number;
  evicted: number;
}

/** A note in an inbox with a limit, in the order of arrival. */
export interface Arrival extends Item {
  from: string;
  id: string;
  /** It stays on a list, wherever it stands. */
  isTicket?: true;
}

const arrivalsPk = (project: string, agent: string): string => `${project}#arrivals#${agent}`;
const depthRef = (project: string, agent: string): Ref<Depth> => ({ pk: arrivalsPk(project, agent), sk: '#depth' });

export const depthOf = (records: Records, { project, id }: Agent): Promise<Depth | undefined> =>
  records.get(depthRef(project, id));

/** What lets a note into an inbox with a limit, to be written with it. */
export interface Entrance {
  arrival: string;
  writes: Write[];
  /** How many wait once it is in. */
  depth: number;
  /** The one that goes for it, where the inbox is full. */
  evicted?: Arrival;
}

/** One read says how full the inbox is, and which note has been there longest. */
export const entranceTo = async (
  deps: Deps,
  { project, id, inboxLimit: limit = 0, overflow }: Agent,
  note: Pick<Arrival, 'from' | 'id' | 'isTicket'>,
  evict: (arrival: Arrival) => Write,
): Promise<Entrance | ParleyError> => {
  const key = depthRef(project, id);
  const now = deps.clock.now();
  const arrival = `at#${sortable(now)}#${note.from}:${note.id}`;
  const came: Write = {
    kind: 'create',
    item: { pk: key.pk, sk: arrival, ...note },
  };
  const [depth, oldest] = await firstTwo(deps, key);
  const { count } = depth;
  if (count < limit) {
    const change: Change = { if: below('count', limit), add: { count: 1 } };
    return { arrival, depth: count + 1, writes: [came, { kind: 'update', key, change }] };
  }
  if (overflow === 'refuse' || !oldest) return full(id, limit);
  const change: Change = { if: above('count', limit - 1), add: { evicted: 1 } };
  const gone: Write = { kind: 'remove', key: { pk: oldest.pk, sk: oldest.sk }, if: present('v') };
  const writes: Write[] = [came, { kind: 'update', key, change }, gone, evict(oldest)];
  return { arrival, depth: count, writes, evicted: oldest };
};

const firstTwo = async (deps: Deps, key: Ref<Depth>): Promise<[Pick<Depth, 'count'>, Arrival | undefined]> => {
  const [first, second] = await deps.records.query<Depth | Arrival>({ p: key.pk, limit: 2 });
  if (first && 'count' in first) return [first, second && 'id' in second ? second : undefined];
  const empty: Fresh<Depth> = { pk: key.pk, sk: '#depth', count: 0, evicted: 0 };
  await deps.records.create<Depth>(empty, deps.newId());
  return [{ count: 0 }, undefined];
};

const full = (agent: string, limit: number): ParleyError =>
  new ParleyError(
    'inbox_full',
    `${limit} messages wait in the inbox of ${agent}, which takes no more. Try again later.`,
    {
      facts: { limit },
      retry: 'later',
    },
  );

/** A transaction of DynamoDB takes 100 writes: two for each note and one for how many are left. */
const MOST_AT_ONCE = 48;

/** Takes notes out of their inbox, each with its change, and gives back those that were still there. */
export const leave = async (deps: Deps, notes: Note[], changeOf: (note: Note) => Change): Promise<Note[]> => {
  const counted = Map.groupBy(
    notes.filter(({ arrival }) => arrival !== undefined),
    ({ project, to }) => arrivalsPk(project, to),
  );
  const left = await Promise.all([
    ...notes.filter(({ arrival }) => arrival === undefined).map((note) => leaveUncounted(deps, note, changeOf(note))),
    ...[...counted.values()].map((group) => leaveCounted(deps, group, changeOf)),
  ]);
  return left.flat();
};

const standing = present('placed.s');

const leaveUncounted = async (deps: Deps, note: Note, change: Change): Promise<Note[]> => {
  const { pk, sk } = note;
  const written = await deps.records.update({ pk, sk }, { ...change, if: standing }, deps.newId());
  return written.outcome === 'written' ? [note] : [];
};

const leaveCounted = async (deps: Deps, notes: Note[], changeOf: (note: Note) => Change): Promise<Note[]> => {
  const left: Note[] = [];
  for (let rest = notes; rest.length > 0; rest = rest.slice(MOST_AT_ONCE)) {
    left.push(...(await leaveTogether(deps, rest.slice(0, MOST_AT_ONCE), changeOf)));
  }
  return left;
};

/** All or none, and then without the one that had gone before. */
const leaveTogether = async (deps: Deps, notes: Note[], changeOf: (note: Note) => Change): Promise<Note[]> => {
  const [first] = notes;
  if (!first) return [];
  const depth = depthRef(first.project, first.to);
  const writes = notes.flatMap((note): Write[] => [
    { kind: 'update', key: { pk: note.pk, sk: note.sk }, change: { ...changeOf(note), if: standing } },
    { kind: 'remove', key: { pk: depth.pk, sk: note.arrival ?? '' } },
  ]);
  const done = await deps.records.transact(
    [...writes, { kind: 'update', key: depth, change: { add: { count: -notes.length } } }],
    deps.newId(),
  );
  if (done.outcome === 'written') return notes;
  const gone = Math.floor(done.at / 2);
  if (gone >= notes.length) throw new Error(`nothing counts what waits in the inbox of ${first.to}`);
  return leaveTogether(deps, notes.toSpliced(gone, 1), changeOf);
};
