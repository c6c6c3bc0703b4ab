import { KEEP_ALIVE_MS } from '../../events/follow-segments.ts';
import { type Caller, revalidateCaller } from '../../identity/auth/authenticate.ts';
import { canUseChannel } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import type { Chunk } from './chunk.ts';
import {
  ChunkSequencer,
  CLOCK_SKEW_MS,
  formatStreamPosition,
  getPositionTime,
  type OrderedChunk,
  type StreamPosition,
} from './chunk-sequencer.ts';
import { subscribeToTurn } from './turn-feed.ts';

/** Clock skew, and the time in which a bucket grows. */
const OVERLAP_MS = CLOCK_SKEW_MS;
/** A Lambda response holds 6 MB. */
const MAX_FRAME_BYTES = 1024 * 1024;

/** Server-sent events: the chunks of a turn with their positions, and the end of the turn. */
export async function* streamChunks(
  deps: Deps,
  caller: Caller,
  turnId: string,
  from: StreamPosition,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const sequencer = new ChunkSequencer(from);
  const { feed, leave } = subscribeToTurn(deps, caller.project, turnId);
  let readFrom = Math.max(0, getPositionTime(from) - OVERLAP_MS);
  try {
    yield `id: ${formatStreamPosition(from)}\n\n`;
    for (let who: Caller | undefined = caller; who && !signal?.aborted; who = await revalidateCaller(deps, who)) {
      const { version } = feed;
      const { turn, received, hasMore } = await feed.read(readFrom);
      if (!turn || !canUseChannel(who, turn.channel)) return;
      yield* buildFrames(sequencer.push(received, deps.clock.now()));
      const newest = Math.max(readFrom, ...received.map(({ at }) => at));
      readFrom = hasMore ? newest : Math.max(readFrom, newest - OVERLAP_MS);
      sequencer.forgetBefore(readFrom - OVERLAP_MS);
      if (hasMore || feed.version !== version) continue;
      if (turn.end && sequencer.dueAt === undefined) {
        yield `event: end\ndata: ${JSON.stringify({ agent_turn_id: turnId, status: turn.end.status })}\n\n`;
        return;
      }
      const quietFrom = deps.clock.now();
      await feed.waitForChange(Math.min(KEEP_ALIVE_MS, Math.max(0, (sequencer.dueAt ?? Infinity) - quietFrom)), signal);
      if (deps.clock.now() - quietFrom >= KEEP_ALIVE_MS) yield ': still here\n\n';
    }
  } finally {
    leave();
  }
}

/** Each frame has its position, so a stream can be cut anywhere. */
function* buildFrames(chunks: OrderedChunk[]): Generator<string> {
  let piece = '';
  for (const { chunk, position } of chunks) {
    piece += `id: ${formatStreamPosition(position)}\nevent: chunk\ndata: ${encodeChunk(chunk)}\n\n`;
    if (piece.length < MAX_FRAME_BYTES) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** Encoded once for all readers. */
const encodedChunks = new WeakMap<Chunk, string>();

const encodeChunk = (chunk: Chunk): string => {
  const text = encodedChunks.get(chunk) ?? JSON.stringify(chunk);
  encodedChunks.set(chunk, text);
  return text;
};
