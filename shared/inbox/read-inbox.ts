import type { Known } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { Json, JsonObject } from '../json/json.ts';
import { loaded } from '../tasks/content.ts';
import { type Delivery, deliveryRef, inboxPk, type Outcome } from './delivery.ts';

export interface InboxOptions {
  max: number;
  waitMs: number;
  signal?: AbortSignal;
}

/** What waits for the agent, oldest first, in its own dialect. It stays until it is acknowledged. */
export const readInbox = async (deps: Deps, { agent }: Known, options: InboxOptions): Promise<JsonObject[]> => {
  const p = inboxPk(agent.project, agent.id);
  const until = deps.clock.now() + options.waitMs;
  const listener = options.waitMs > 0 ? deps.records.listen(p) : undefined;
  try {
    for (;;) {
      const found = await deps.records.query<Delivery>({ index: 'placed', p, limit: options.max });
      const left = until - deps.clock.now();
      if (found.length > 0 || !listener || left <= 0 || options.signal?.aborted) {
        return await written(deps, agent.dialect, found);
      }
      await listener.heard(left, options.signal);
    }
  } finally {
    listener?.close();
  }
};

/** What one answer holds of contents that are not in the inbox itself; the rest comes with the next. */
const ANSWER_BYTES = 4 * 1024 * 1024;

const written = async (deps: Deps, dialect: string, deliveries: Delivery[]): Promise<JsonObject[]> => {
  const messages: JsonObject[] = [];
  let bytes = 0;
  for (const { outcome } of deliveries) {
    if (!outcome) continue;
    bytes += outcome.output && 'blob' in outcome.output ? outcome.output.bytes : 0;
    if (messages.length > 0 && bytes > ANSWER_BYTES) break;
    messages.push(dialectNamed(dialect).encodeOutcome(outcome, await outputOf(deps, outcome)));
  }
  return messages;
};

/** A result whose content is lost must not keep the reader from all others. */
const outputOf = async (deps: Deps, { output, task }: Outcome): Promise<Json | undefined> => {
  try {
    return output && (await loaded(deps.blobs, output));
  } catch (error) {
    deps.log('error', 'the content of a result is lost', { taskId: task.id, error: String(error) });
    return undefined;
  }
};

/** A change may come again for as long as the stream keeps it, which is a day; this is twice as long. */
const TOMBSTONE_MS = 48 * 3_600_000;

/** Removes what the agent has read. Ids that are not there, or no longer, are fine. */
export const acknowledge = async (deps: Deps, { agent }: Known, ids: string[]): Promise<number> => {
  const change = {
    set: { expires: deps.clock.now() + TOMBSTONE_MS },
    unset: ['placed', 'outcome'],
    if: { field: 'outcome', present: true },
  };
  const written = ids.map((id) => deps.records.update(deliveryRef(agent.project, agent.id, id), change, deps.newId()));
  return (await Promise.all(written)).filter(({ outcome }) => outcome === 'written').length;
};
