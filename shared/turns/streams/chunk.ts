import type { Agent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { assertMaxSize, type JsonObject } from '../../kernel/json/json.ts';
import { toSortableTime } from '../../model/task.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { lessThan, notExists, or } from '../../ports/conditions.ts';
import type { Item, Ref } from '../../ports/records.ts';

/** A piece of the output of a turn. It has no effects and may be lost. */
export interface Chunk {
  agent_turn_id: string;
  step_id: string;
  chunk_type: string;
  content: string;
  index?: number | undefined;
  metadata?: JsonObject | undefined;
}

/** The chunks of a quarter of a second, one attribute each, so appending is one blind write. */
interface ChunkBucket extends Item {
  bytes: number;
}

export interface ReceivedChunk {
  /** Time and a counter: sorted by arrival. */
  key: string;
  at: number;
  chunk: Chunk;
}

const BUCKET_MS = 250;
const CHUNK_RETENTION_MS = 10 * 60_000;
/** Further chunks are dropped: a DynamoDB item holds 400 KB, and one more chunk must fit. */
const MAX_BUCKET_BYTES = 256 * 1024;
const MAX_CHUNK_BYTES = 64 * 1024;

/** In the partition of the turn, so its watchers see them; by agent, so no agent can write into the turn of another. */
const chunkPrefix = (agent: string): string => `chunk#${agent}#`;
export const toBucketStart = (at: number): number => Math.max(0, at - (at % BUCKET_MS));
const bucketSk = (agent: string, at: number): string => chunkPrefix(agent) + toSortableTime(toBucketStart(at));
const bucketRef = (project: string, agent: string, turn: string, at: number): Ref<ChunkBucket> => ({
  pk: turnRef(project, turn).pk,
  sk: bucketSk(agent, at),
});

const CHUNK_FIELD_PREFIX = 'c-';
let chunkCounter = 0;

/** Resolves when it can be read, or was dropped. */
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

/** In order of arrival. */
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
