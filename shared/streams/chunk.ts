import type { Agent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import type { JsonObject } from '../json/json.ts';
import { refuseTooLarge } from '../json/size.ts';
import { absent, any, below } from '../ports/conditions.ts';
import type { Item, Ref } from '../ports/records.ts';
import { sortable } from '../tasks/task.ts';
import { type Turn, turnRef } from '../turns/turn.ts';

/** A piece of what an agent says while it works on a turn. Nothing follows from it, and nothing is missing where it is lost. */
export interface Chunk {
  agent_turn_id: string;
  step_id: string;
  chunk_type: string;
  content: string;
  index?: number | undefined;
  metadata?: JsonObject | undefined;
}

/** All chunks of a turn that arrived in one quarter of a second, each in a field of its own, so that adding one is one blind write. */
interface Slot extends Item {
  bytes: number;
}

export interface Arrived {
  /** When, and between chunks of the same millisecond, in which order: text order is the order of arrival. */
  key: string;
  at: number;
  chunk: Chunk;
}

const SLOT_MS = 250;
const LIFE_MS = 10 * 60_000;
/** What is more than a slot takes is dropped: an item of DynamoDB has 400 KB, and one more chunk must still fit. */
const SLOT_BYTES = 256 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** Beside the turn, so that whoever listens there hears them; by their agent, so that nobody can speak in the turn of another. */
const prefixOf = (agent: string): string => `chunk#${agent}#`;
const slotSk = (agent: string, at: number): string => prefixOf(agent) + sortable(Math.max(0, at - (at % SLOT_MS)));
const slotRef = (project: string, agent: string, turn: string, at: number): Ref<Slot> => ({
  pk: turnRef(project, turn).pk,
  sk: slotSk(agent, at),
});

const FIELD = 'c-';
let count = 0;

/** Resolves when a reader can find it, or when it was dropped because there are too many. */
export const keepChunk = async (
  deps: Deps,
  { project, id }: Pick<Agent, 'project' | 'id'>,
  chunk: Chunk,
): Promise<void> => {
  refuseTooLarge('The chunk', chunk, CHUNK_BYTES);
  const now = deps.clock.now();
  count = (count + 1) % 1_000_000;
  const key = `${sortable(now)}-${String(count).padStart(6, '0')}-${deps.newId().slice(0, 4)}`;
  await deps.records.update(
    slotRef(project, id, chunk.agent_turn_id, now),
    {
      if: any(absent('bytes'), below('bytes', SLOT_BYTES)),
      set: { [FIELD + key]: chunk, expires: now + LIFE_MS },
      add: { bytes: Buffer.byteLength(JSON.stringify(chunk)) },
    },
    deps.newId(),
    'orCreate',
  );
};

const MOST_SLOTS = 40;

/** Some of the turn's chunks that arrived at a time or later, in the order of arrival, and whether there are more. */
export const chunksFrom = async (
  { records }: Deps,
  { pk, agent }: Pick<Turn, 'pk' | 'agent'>,
  from: number,
): Promise<{ arrived: Arrived[]; isMore: boolean }> => {
  const after = slotSk(agent, from - SLOT_MS);
  const slots = await records.query<Slot>({ p: pk, prefix: prefixOf(agent), after, limit: MOST_SLOTS });
  return { arrived: slots.flatMap(chunksIn), isMore: slots.length === MOST_SLOTS };
};

const chunksIn = (slot: Slot): Arrived[] =>
  Object.entries(slot)
    .filter(([field]) => field.startsWith(FIELD))
    .map(([field, chunk]) => ({
      key: field.slice(FIELD.length),
      at: Number(field.slice(FIELD.length).slice(0, 14)),
      chunk,
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
