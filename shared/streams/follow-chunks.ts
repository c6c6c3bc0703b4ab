import { type Caller, stillValid } from '../agents/authenticate.ts';
import { mayUse } from '../agents/channels.ts';
import type { Deps } from '../deps.ts';
import { KEEP_ALIVE_MS } from '../events/follow-events.ts';
import { turnRef } from '../turns/turn.ts';
import { chunksFrom } from './chunk.ts';
import { ChunkOrder, CLOCKS_DIFFER_MS, type Place, placeText, type Told, timeOf } from './chunk-order.ts';

/** Clocks differ by no more, and a slot still grows for less: so much is read once more. */
const READ_AGAIN_MS = CLOCKS_DIFFER_MS;
/** An answer of a function has 6 MB at the most. */
const PIECE_BYTES = 1024 * 1024;

/** The chunks of a turn as they come, as server-sent events, each with the place behind it; at last, that the turn is over. */
export async function* chunkStream(
  deps: Deps,
  caller: Caller,
  turnId: string,
  from: Place,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const order = new ChunkOrder(from);
  const listener = deps.records.listen(turnRef(caller.project, turnId).pk);
  let readFrom = Math.max(0, timeOf(from) - READ_AGAIN_MS);
  try {
    yield `id: ${placeText(from)}\n\n`;
    for (let who: Caller | undefined = caller; who && !signal?.aborted; who = await stillValid(deps, who)) {
      const turn = await deps.records.get(turnRef(caller.project, turnId));
      if (!turn || !mayUse(who, turn.channel)) return;
      const { arrived, isMore } = await chunksFrom(deps, turn, readFrom);
      yield* piecesOf(order.take(arrived, deps.clock.now()));
      const newest = Math.max(readFrom, ...arrived.map(({ at }) => at));
      readFrom = isMore ? newest : Math.max(readFrom, newest - READ_AGAIN_MS);
      order.forget(readFrom - READ_AGAIN_MS);
      if (isMore) continue;
      if (turn.end && order.dueAt === undefined) {
        yield `event: end\ndata: ${JSON.stringify({ agent_turn_id: turnId, status: turn.end.status })}\n\n`;
        return;
      }
      const quietFrom = deps.clock.now();
      await listener.heard(Math.min(KEEP_ALIVE_MS, Math.max(0, (order.dueAt ?? Infinity) - quietFrom)), signal);
      if (deps.clock.now() - quietFrom >= KEEP_ALIVE_MS) yield ': still here\n\n';
    }
  } finally {
    listener.close();
  }
}

/** Each frame carries its own place, so that a stream can be cut anywhere. */
function* piecesOf(told: Told[]): Generator<string> {
  let piece = '';
  for (const { chunk, place } of told) {
    piece += `id: ${placeText(place)}\nevent: chunk\ndata: ${JSON.stringify(chunk)}\n\n`;
    if (piece.length < PIECE_BYTES) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
