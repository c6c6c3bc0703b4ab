import type { Agent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { assertMaxSize, type JsonObject } from '../../kernel/json/json.ts';
import { toSortableTime } from '../../model/task.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { lessThan, notExists, or } from '../../ports/conditions.ts';
import type { Item, Ref } from '../../ports/records.ts';

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
interface ChunkBucket extends Item {
  bytes: number;
}

export interface ReceivedChunk {
  /** When, and between chunks of the same millisecond, in which order: text order is the order of arrival. */
  key: string;
  at: number;
  chunk: Chunk;
}

const BUCKET_MS = 250;
const CHUNK_RETENTION_MS = 10 * 60_000;
/** What is more than a slot takes is dropped: an item of DynamoDB has 400 KB, and one more chunk must still fit. */
const MAX_BUCKET_BYTES = 256 * 1024;
const MAX_CHUNK_BYTES = 64 * 1024;

/** Beside the turn, so that whoever listens there hears them; by their agent, so that nobody can speak in the turn of another. */
const chunkPrefix = (agent: string): string => `chunk#${agent}#`;
/** When the slot began in which a chunk stands that arrived then. */
export const toBucketStart = (at: number): number => Math.max(0, at - (at % BUCKET_MS));
const bucketSk = (agent: string, at: number): string => chunkPrefix(agent) + toSortableTime(toBucketStart(at));
const bucketRef = (project: string, agent: string, turn: string, at: number): Ref<ChunkBucket> => ({
  pk: turnRef(project, turn).pk,
  sk: bucketSk(agent, at),
});

const CHUNK_FIELD_PREFIX = 'c-';
let chunkCounter = 0;

/** Resolves when a reader can find it, or when it was dropped because there are too many. */
export const appendChunk = async (
  deps: Deps,
  { project, id }: Pick<Agent, 'project' | 'id'>,
  chunk: Chunk,
): Promise<void> => {
  assertMaxSize('The chunk', chunk, MAX_CHUNK_BYTES);
  const now = deps.clock.now();
  chunkCounter = (chunkCounter + 1) % 1_000_000;
  const key = `${toSortableTime(now)}-${String(chunkCounter).padStart(6, '0')}-${deps.newId().slice(0, 4)}`;
  await deps.records.update(
    bucketRef(project, id, chunk.agent_turn_id, now),
    {
      if: or(notExists('bytes'), lessThan('bytes', MAX_BUCKET_BYTES)),
      set: { [CHUNK_FIELD_PREFIX + key]: chunk, expires: now + CHUNK_RETENTION_MS },
      add: { bytes: Buffer.byteLength(JSON.stringify(chunk)) },
    },
    deps.newId(),
    'orCreate',
  );
};

const MAX_BUCKETS_READ = 40;

/** Some of the turn's chunks that arrived at a time or later, in the order of arrival, and whether there are more. */
export const listChunksFrom = async (
  { records }: Deps,
  { pk, agent }: Pick<Turn, 'pk' | 'agent'>,
  from: number,
): Promise<{ received: ReceivedChunk[]; hasMore: boolean }> => {
  const after = bucketSk(agent, from - BUCKET_MS);
  const slots = await records.query<ChunkBucket>({
    pk: pk,
    prefix: chunkPrefix(agent),
    after,
    limit: MAX_BUCKETS_READ,
  });
  return { received: slots.flatMap(toReceivedChunks), hasMore: slots.length === MAX_BUCKETS_READ };
};

const toReceivedChunks = (slot: ChunkBucket): ReceivedChunk[] =>
  Object.entries(slot)
    .filter(([field]) => field.startsWith(CHUNK_FIELD_PREFIX))
    .map(([field, chunk]) => ({
      key: field.slice(CHUNK_FIELD_PREFIX.length),
      at: Number(field.slice(CHUNK_FIELD_PREFIX.length).slice(0, 14)),
      chunk,
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
