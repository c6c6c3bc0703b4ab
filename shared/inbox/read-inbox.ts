import type { Agent, Known } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { Json, JsonObject } from '../json/json.ts';
import { type Change, present } from '../ports/conditions.ts';
import { loaded } from '../tasks/content.ts';
import type { Task } from '../tasks/task.ts';
import { type Delivery, inboxPk, messageIdIn, type Outcome, outcomeOf } from './delivery.ts';

/** A task that was completed, or a delivery of what else happened. */
type InInbox = Task | Delivery;

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
      const found = await deps.records.query<InInbox>({ index: 'placed', p, limit: options.max });
      const left = until - deps.clock.now();
      if (found.length > 0 || !listener || left <= 0 || options.signal?.aborted) {
        return await written(deps, agent, found);
      }
      await listener.heard(left, options.signal);
    }
  } finally {
    listener?.close();
  }
};

/** What one answer holds; the rest comes with the next. */
const ANSWER_BYTES = 3 * 1024 * 1024;

const written = async (deps: Deps, { id, dialect }: Agent, entries: InInbox[]): Promise<JsonObject[]> => {
  const messages: JsonObject[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const outcome = entry.sk === 'task' ? outcomeOf(entry, id) : entry.outcome;
    if (!outcome) continue;
    bytes += bytesOf(outcome);
    if (messages.length > 0 && bytes > ANSWER_BYTES) break;
    messages.push(dialectNamed(dialect).encodeOutcome(outcome, await outputOf(deps, outcome)));
  }
  return messages;
};

const bytesOf = ({ output, carried, error }: Outcome): number =>
  JSON.stringify([carried, error]).length +
  (output && 'blob' in output ? output.bytes : JSON.stringify(output ?? '').length);

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
  const read = await standing(deps, inboxPk(agent.project, agent.id), ids);
  const expires = deps.clock.now() + TOMBSTONE_MS;
  const written = read.map(({ pk, sk }) => {
    const gone: Change = sk === 'task' ? { unset: ['placed'] } : { set: { expires }, unset: ['placed', 'outcome'] };
    return deps.records.update({ pk, sk }, { ...gone, if: present('placed.s') }, deps.newId());
  });
  return (await Promise.all(written)).filter(({ outcome }) => outcome === 'written').length;
};

/** Whoever acknowledges has read the first of what stands in the inbox, a hundred at the most. */
const LOOKED_AT = 1000;
const PAGE = 100;

/** What stands in the inbox under the ids, the oldest of each: a sender may have used one twice. */
const standing = async (deps: Deps, p: string, ids: string[]): Promise<InInbox[]> => {
  const left = [...ids];
  const found: InInbox[] = [];
  let after: string | undefined;
  for (let looked = 0; left.length > 0 && looked < LOOKED_AT; ) {
    const limit = after === undefined ? ids.length : PAGE;
    const page = await deps.records.query<InInbox>({ index: 'placed', p, after, limit });
    for (const entry of page) {
      after = entry.placed?.s ?? '';
      const at = left.indexOf(messageIdIn(after));
      if (at < 0) continue;
      left.splice(at, 1);
      found.push(entry);
    }
    if (page.length < limit) break;
    looked += page.length;
  }
  return found;
};
