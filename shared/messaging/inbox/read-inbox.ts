import type { Dialect } from '../../dialects/dialect.ts';
import { getAgentDialect, getReaderDialect } from '../../dialects/registry.ts';
import type { Agent, RegisteredAgent } from '../../identity/agents/agent.ts';
import { listLiveInstances, recordInstanceActivity } from '../../identity/agents/agent-instances.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { MAX_RESPONSE_BYTES } from '../../kernel/response-size.ts';
import { parseTrace, pickTraceFields, type Trace } from '../../kernel/trace.ts';
import { buildOutcome, inboxPk } from '../../model/delivery.ts';
import { isDirectMessage } from '../../model/direct-message.ts';
import { waitUntil } from '../../storage/wait-until.ts';
import { isExpired } from '../direct-messages/direct-message-changes.ts';
import { encodeBatchFor, encodeMessageFor, encodeOutcomeFor } from './encode-for-reader.ts';
import { type InboxEntry, markRead, removeEntries } from './inbox-entry.ts';

export interface InboxOptions {
  max: number;
  /** What is read is gone, should the answer be lost too. */
  isRemoving?: boolean;
  /** Which of the agent's instances reads, where it says so. */
  instance?: string;
  /** In which dialect, where that is not the agent's. */
  dialect?: string;
  waitMs: number;
  signal?: AbortSignal;
}

/** What waits for the agent, oldest first, in its own dialect. It stays until it is acknowledged, unless it is taken at once. */
export const readInbox = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  options: InboxOptions,
): Promise<EncodedEntry[]> => {
  const p = inboxPk(agent.project, agent.id);
  if (options.instance !== undefined) await recordInstanceActivity(deps, agent, options.instance);
  let begun = 0;
  const read = async (): Promise<InboxEntry[]> => {
    begun = performance.now();
    return findWaitingEntries(deps, p, options.max, await findOtherInstances(deps, agent, options.instance));
  };
  const found = await waitUntil(deps, [p], options, read, (entries) => entries.length > 0);
  const encoded = await encodeEntries(deps, agent, found, options.dialect);
  // Nothing is taken for a caller who has gone.
  if (options.isRemoving && options.signal?.aborted) return [];
  const given = options.isRemoving ? await removeEntries(deps, encoded) : encoded;
  if (!options.isRemoving) {
    await markRead(
      deps,
      agent,
      given.map(({ entry }) => entry),
    );
  }
  if (getAgentDialect(agent).hasLatencyMetrics) {
    deps.recordMetric('message_read_latency_ms', performance.now() - begun);
  }
  return given;
};

/** The first of what stands in the inbox. What nobody read in its time leaves it by itself, and may still be about to. */
const findWaitingEntries = async (deps: Deps, p: string, max: number, others: string[]): Promise<InboxEntry[]> => {
  const isShown = (entry: InboxEntry): boolean =>
    (!isDirectMessage(entry) || !isExpired(entry, deps.clock.now())) &&
    !others.includes(getTargetInstance(entry) ?? '');
  const found: InboxEntry[] = [];
  let after: string | undefined;
  for (let looked = 0; looked < MAX_ENTRIES_READ; looked += max) {
    const page = await deps.records.query<InboxEntry>({ index: 'byList', pk: p, after, limit: max });
    found.push(...page.filter(isShown));
    if (found.length >= max || page.length < max) break;
    after = page.at(-1)?.byList?.sk;
  }
  return found.slice(0, max);
};

/** What is for one of these is left to it. */
const findOtherInstances = async (deps: Deps, agent: Agent, own: string | undefined): Promise<string[]> =>
  own === undefined ? [] : (await listLiveInstances(deps, agent)).filter((instance) => instance !== own);

/** An answer goes back to the instance that asked, what the holder must know to the one that claimed, a note to the one that it names. */
const getTargetInstance = (entry: InboxEntry): string | undefined => {
  if (entry.sk === 'direct-message') return entry.toInstance;
  if (entry.sk === 'batch') return undefined;
  if (entry.sk === 'task') return entry.fromInstance;
  const { to, task } = entry.outcome ?? {};
  return to === task?.from ? task?.fromInstance : task?.holderInstance;
};

export interface EncodedEntry {
  entry: InboxEntry;
  message: JsonObject;
  trace: Trace;
}

/** So many contents are fetched at once: each may have 2 MB. */
const CONCURRENCY = 10;

const encodeEntries = async (
  deps: Deps,
  agent: Agent,
  entries: InboxEntry[],
  named: string | undefined,
): Promise<EncodedEntry[]> => {
  const dialect = getReaderDialect({ agent }, named);
  const messages: EncodedEntry[] = [];
  let bytes = 0;
  for (let at = 0; at < entries.length; at += CONCURRENCY) {
    const some = entries.slice(at, at + CONCURRENCY);
    const encoded = await Promise.all(some.map((entry) => encodeEntry(deps, entry, agent.id, dialect)));
    for (const [index, entry] of some.entries()) {
      const message = encoded[index];
      if (!message) continue;
      bytes += JSON.stringify(message).length;
      if (messages.length > 0 && bytes > MAX_RESPONSE_BYTES) return messages;
      messages.push({ entry, message, trace: getEntryTrace(entry) });
    }
  }
  return messages;
};

/** Of a task what it is told under, whoever told it. */
const getEntryTrace = (entry: InboxEntry): Trace => {
  if (entry.sk === 'direct-message' || entry.sk === 'batch' || entry.sk === 'task') return pickTraceFields(entry);
  return pickTraceFields(entry.outcome?.task ?? parseTrace(undefined));
};

const encodeEntry = async (
  deps: Deps,
  entry: InboxEntry,
  reader: string,
  dialect: Dialect,
): Promise<JsonObject | undefined> => {
  if (entry.sk === 'direct-message') return encodeMessageFor(deps, entry, dialect);
  if (entry.sk === 'batch') return encodeBatchFor(deps, entry, dialect);
  const outcome = entry.sk === 'task' ? buildOutcome(entry, reader) : entry.outcome;
  return outcome && encodeOutcomeFor(deps, entry.project, outcome, dialect);
};

/** So far is looked for what its reader is shown. */
const MAX_ENTRIES_READ = 1000;
