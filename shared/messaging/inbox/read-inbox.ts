import type { Dialect } from '../../dialects/dialect.ts';
import { getAgentDialect, getReaderDialect } from '../../dialects/registry.ts';
import { recordWithAlert } from '../../events/metric-alerts.ts';
import type { Agent, RegisteredAgent } from '../../identity/agents/agent.ts';
import { listLiveInstances, recordInstanceActivity } from '../../identity/agents/agent-instances.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { MAX_RESPONSE_BYTES } from '../../kernel/response-size.ts';
import { pickTraceFields, type Trace } from '../../kernel/trace.ts';
import { buildOutcome, inboxPk } from '../../model/delivery.ts';
import { isDirectMessage } from '../../model/direct-message.ts';
import { waitUntil } from '../../storage/wait-until.ts';
import { isExpired } from '../direct-messages/direct-message-changes.ts';
import { claimDelegations, claimsByReading, readDelegation } from './delegations.ts';
import { encodeBatchFor, encodeMessageFor, encodeOutcomeFor } from './encode-for-reader.ts';
import { type InboxEntry, markRead, removeEntries } from './inbox-entry.ts';

interface InboxOptions {
  max: number;
  /** Entries are removed, even if the answer is lost. */
  isRemoving?: boolean;
  instance?: string;
  /** If it is not the agent's. */
  dialect?: string;
  waitMs: number;
  signal?: AbortSignal;
  /** Tasks for the agent are claimed by reading. */
  isClaiming?: boolean;
  canReceive?: () => Promise<boolean>;
}

/** Oldest first. Entries stay until they are acknowledged, unless `isRemoving`. */
export const readInbox = async (
  deps: Deps,
  registered: RegisteredAgent,
  options: InboxOptions,
): Promise<EncodedEntry[]> => {
  const { agent } = registered;
  const p = inboxPk(agent.project, agent.id);
  if (options.instance !== undefined) await recordInstanceActivity(deps, agent, options.instance);
  const isClaiming = options.isClaiming === true && claimsByReading(registered);
  let claimed = isClaiming ? await claimDelegations(deps, registered, { ...options, waitMs: 0 }) : [];
  let claim: WaitingClaim | undefined;
  let begun = 0;
  const read = async (): Promise<InboxEntry[]> => {
    begun = performance.now();
    const others = await findOtherInstances(deps, agent, options.instance);
    const found = mergeEntries(await findWaitingEntries(deps, p, options.max, others), claimed, options.max);
    // A claimed task becomes an entry, which ends the wait.
    if (isClaiming && found.length === 0 && options.waitMs > 0) claim ??= startClaim(deps, registered, options);
    return found;
  };
  try {
    const found = await waitUntil(deps, [p], options, read, (entries) => entries.length > 0);
    if (claim) claimed = await claim.end();
    const encoded = await encodeEntries(deps, registered, mergeEntries(found, claimed, options.max), options.dialect);
    // Nothing is taken for a caller who has gone.
    if (options.isRemoving && options.signal?.aborted) return [];
    const given = options.isRemoving ? await removeEntries(deps, encoded) : encoded;
    const entries = given.map(({ entry }) => entry);
    if (!options.isRemoving) await markRead(deps, agent, entries);
    const { latencyAlerts } = getAgentDialect(agent);
    if (latencyAlerts) {
      const alert = { labels: { project: agent.project }, agent: agent.id, threshold: latencyAlerts.readMs };
      await recordWithAlert(deps, 'message_read_latency_ms', performance.now() - begun, alert);
    }
    return given;
  } finally {
    await claim?.end();
  }
};

/** A claim that waits at the same time. */
interface WaitingClaim {
  /** Ends the wait and returns the claimed tasks. */
  end(): Promise<InboxEntry[]>;
}

const startClaim = (deps: Deps, registered: RegisteredAgent, options: InboxOptions): WaitingClaim => {
  const controller = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, controller.signal]) : controller.signal;
  const claimed = claimDelegations(deps, registered, { ...options, signal });
  // `end` throws it.
  claimed.catch(() => {});
  return {
    end: () => {
      controller.abort();
      return claimed;
    },
  };
};

/** A claimed task may not be in the index yet. */
const mergeEntries = (found: InboxEntry[], claimed: InboxEntry[], max: number): InboxEntry[] => {
  if (claimed.length === 0) return found;
  const known = new Set(found.map(({ sk }) => sk));
  const sortKey = ({ byList }: InboxEntry): string => byList?.sk ?? '';
  return [...found, ...claimed.filter(({ sk }) => !known.has(sk))]
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
    .slice(0, max);
};

/** Without expired ones, which their timer is about to remove. */
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

/** Entries for other live instances are left to them. */
const findOtherInstances = async (deps: Deps, agent: Agent, own: string | undefined): Promise<string[]> =>
  own === undefined
    ? []
    : (await listLiveInstances(deps, agent)).map(({ id }) => id).filter((instance) => instance !== own);

/**
 * An outcome goes to the instance that requested, news for the holder to the one that claimed, a direct message to the one
 * that it names.
 */
const getTargetInstance = (entry: InboxEntry): string | undefined => {
  if (entry.sk === 'direct-message') return entry.toInstance;
  if (entry.sk === 'batch') return undefined;
  if (entry.sk === 'task') return entry.fromInstance;
  if (entry.delegation) return entry.delegation.instance;
  const { to, task } = entry.outcome ?? {};
  return to === task?.from ? task?.fromInstance : task?.holderInstance;
};

interface EncodedEntry {
  entry: InboxEntry;
  message: JsonObject;
  trace: Trace;
}

/** Each content may have 2 MB. */
const CONCURRENCY = 10;

const encodeEntries = async (
  deps: Deps,
  registered: RegisteredAgent,
  entries: InboxEntry[],
  named: string | undefined,
): Promise<EncodedEntry[]> => {
  const dialect = getReaderDialect(registered, named);
  const messages: EncodedEntry[] = [];
  const gone: { entry: InboxEntry }[] = [];
  let bytes = 0;
  for (let at = 0; at < entries.length; at += CONCURRENCY) {
    const some = entries.slice(at, at + CONCURRENCY);
    const encoded = await Promise.all(some.map((entry) => encodeEntry(deps, registered, entry, dialect)));
    for (const [index, entry] of some.entries()) {
      const read = encoded[index];
      if (read === 'gone') gone.push({ entry });
      if (!read || read === 'gone') continue;
      bytes += JSON.stringify(read.message).length;
      if (messages.length > 0 && bytes > MAX_RESPONSE_BYTES) return messages;
      messages.push({ entry, ...read });
    }
  }
  if (gone.length > 0) await removeEntries(deps, gone);
  return messages;
};

const encodeEntry = async (
  deps: Deps,
  registered: RegisteredAgent,
  entry: InboxEntry,
  dialect: Dialect,
): Promise<Omit<EncodedEntry, 'entry'> | 'gone' | undefined> => {
  if (entry.sk === 'direct-message')
    return { message: await encodeMessageFor(deps, entry, dialect), trace: pickTraceFields(entry) };
  if (entry.sk === 'batch')
    return { message: await encodeBatchFor(deps, entry, dialect), trace: pickTraceFields(entry) };
  if (entry.sk !== 'task' && entry.delegation) return readDelegation(deps, registered, entry.delegation, dialect);
  const outcome = entry.sk === 'task' ? buildOutcome(entry, registered.agent.id) : entry.outcome;
  if (!outcome) return undefined;
  const message = await encodeOutcomeFor(deps, entry.project, outcome, dialect);
  return { message, trace: pickTraceFields(entry.sk === 'task' ? entry : outcome.task) };
};

/** Of entries that may be hidden from this reader. */
const MAX_ENTRIES_READ = 1000;
