import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { isJsonObject, isObject, type JsonObject } from '../../kernel/json/json.ts';
import { toIso } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';

export const AUDIT_LOG_STATUSES = ['success', 'error', 'timeout'] as const;

/** A message from the sender's or the recipient's point of view. */
export interface AuditLogEntry {
  messageId: string;
  timestamp: string;
  direction: 'sent' | 'received';
  fromAgent: string;
  toAgent?: string;
  type: string;
  status: (typeof AUDIT_LOG_STATUSES)[number];
  /** Until a request was claimed or answered, or another message was read. */
  latencyMs: number;
  evidenceCount: number;
  confidenceScore: number;
  taskId?: string;
}

interface AuditLogFilter {
  agent?: string;
  type?: string;
  status?: AuditLogEntry['status'];
  /** Epoch milliseconds, inclusive. */
  from?: number;
  to?: number;
  limit: number;
  cursor?: string;
}

interface AuditLogPage {
  entries: AuditLogEntry[];
  /** Absent at the end. A page with a cursor may be short or empty. */
  cursor?: string;
}

/** Bounds the cost of a call with a selective filter. */
const MAX_READS = 5;
/** After the first read, which is as large as the page. */
const EVENT_PAGE = 100;
/** Sent and received, received twice, or less. */
const MAX_ENTRIES_PER_EVENT = 2;
/** The event log is ordered only roughly. */
const MAX_DISORDER_MS = 10 * 60_000;

/** Newest first, from the event log: the audit log costs no writes of its own. */
export const readAuditLog = async (deps: Deps, caller: Caller, filter: AuditLogFilter): Promise<AuditLogPage> => {
  const entries: AuditLogEntry[] = [];
  const seen = new Set<string>();
  let cursor = filter.cursor ?? (await findNewestCursor(deps, caller.project, filter));
  for (let reads = 0; reads < MAX_READS; reads++) {
    const options = { after: cursor, types: Object.keys(LOGGED_EVENTS), newestFirst: true };
    const read = (limit: number) => deps.events.read(caller.project, { ...options, limit });
    const page = await read(reads === 0 ? Math.ceil(filter.limit / MAX_ENTRIES_PER_EVENT) : EVENT_PAGE);
    if (page.cursor === cursor) return { entries };
    for (const [at, event] of page.events.entries()) {
      if (filter.from !== undefined && event.at < filter.from - MAX_DISORDER_MS) return { entries };
      if (seen.has(event.id) || event.at < (filter.from ?? 0) || event.at > (filter.to ?? Infinity)) continue;
      seen.add(event.id);
      entries.push(...toAuditEntries(event).filter((entry) => matchesFilter(caller, entry, filter)));
      if (entries.length + MAX_ENTRIES_PER_EVENT <= filter.limit) continue;
      // The next page starts after this event.
      return { entries, cursor: (at + 1 === page.events.length ? page : await read(at + 1)).cursor };
    }
    cursor = page.cursor;
  }
  return { entries, cursor };
};

/** Where to start for entries until a time. */
const findNewestCursor = (
  { events, clock }: Deps,
  project: string,
  { to = Infinity }: AuditLogFilter,
): Promise<string> => {
  const after = to + MAX_DISORDER_MS;
  return after < clock.now() ? events.findPositionAt(project, after) : events.getEnd(project);
};

/** The sender for sent entries, the recipient for received ones. */
const getEntryOwner = ({ direction, fromAgent, toAgent }: AuditLogEntry): string | undefined =>
  direction === 'sent' ? fromAgent : toAgent;

const matchesFilter = (caller: Caller, entry: AuditLogEntry, { agent, type, status }: AuditLogFilter): boolean =>
  (caller.role === 'admin' || getEntryOwner(entry) === caller.registered.agent.id) &&
  (agent === undefined || getEntryOwner(entry) === agent) &&
  (type === undefined || entry.type === type) &&
  (status === undefined || entry.status === status);

type Direction = AuditLogEntry['direction'];
type Speaker = 'requester' | 'holder' | 'sender';

/** The sender of the message, and whether the event means sent, received or both. */
const LOGGED_EVENTS: Record<string, { by?: Speaker; directions: Direction[] }> = {
  'task.requested': { by: 'requester', directions: ['sent'] },
  'task.claimed': { by: 'requester', directions: ['received'] },
  'task.expired': { by: 'requester', directions: ['received'] },
  'task.retrying': { by: 'holder', directions: ['sent'] },
  // Progress can be read in the task at once, and an outcome in the inbox.
  'task.progress': { by: 'holder', directions: ['sent', 'received'] },
  'task.completed': { by: 'holder', directions: ['sent', 'received'] },
  'task.failed': { by: 'holder', directions: ['sent', 'received'] },
  'task.cancelled': { by: 'holder', directions: ['sent', 'received'] },
  'task.input_required': { by: 'holder', directions: ['sent', 'received'] },
  // Only receipts: no message caused these events.
  'task.input_given': { directions: [] },
  'batch.ended': { directions: [] },
  'message.sent': { by: 'sender', directions: ['sent'] },
  'message.read': { by: 'sender', directions: ['received'] },
  'message.expired': { by: 'sender', directions: ['received'] },
  'message.evicted': { by: 'sender', directions: ['received'] },
  'message.blocked': { by: 'sender', directions: ['sent'] },
  'message.rejected': { by: 'sender', directions: ['sent'] },
};

const toAuditEntries = (event: ParleyEvent): AuditLogEntry[] => {
  const { logged, delivered } = event.data;
  return [
    ...(isJsonObject(logged) ? toMessageEntries(event, logged) : []),
    ...(Array.isArray(delivered) ? delivered.filter(isJsonObject) : []).map((entry) =>
      toAuditEntry(event, entry, 'received'),
    ),
  ];
};

const toMessageEntries = (event: ParleyEvent, message: JsonObject): AuditLogEntry[] => {
  const { by, directions = [] } = LOGGED_EVENTS[event.type] ?? {};
  const { from: sender, to: addressee, agent } = event.data;
  const [from, to] = by === 'holder' ? [agent, sender] : [sender, addressee ?? agent];
  return directions.map((direction) => toAuditEntry(event, { ...message, from, to }, direction));
};

const toAuditEntry = (
  { type: eventType, at, data }: ParleyEvent,
  message: JsonObject,
  direction: Direction,
): AuditLogEntry => {
  const { id, from, to, type, waitedMs, evidenceCount, confidenceScore } = message;
  return {
    messageId: String(id),
    timestamp: toIso(at),
    direction,
    fromAgent: String(from),
    toAgent: to === undefined ? undefined : String(to),
    type: String(type),
    status: getEntryStatus(eventType, data),
    latencyMs: toNumber(waitedMs),
    evidenceCount: toNumber(evidenceCount),
    confidenceScore: toNumber(confidenceScore),
    taskId: data.taskId === undefined ? undefined : String(data.taskId),
  };
};

const getEntryStatus = (eventType: string, { error, status }: ParleyEvent['data']): AuditLogEntry['status'] => {
  if (eventType.endsWith('.expired')) return 'timeout';
  if (['message.evicted', 'message.blocked', 'message.rejected', 'task.cancelled'].includes(eventType)) return 'error';
  if (eventType === 'batch.ended') return getBatchStatus(status);
  if (eventType !== 'task.failed' && eventType !== 'task.retrying') return 'success';
  const code = isObject(error) ? String(error.code).toLowerCase() : '';
  return code === 'timeout' ? 'timeout' : 'error';
};

const getBatchStatus = (status: unknown): AuditLogEntry['status'] => {
  if (status === 'timeout') return 'timeout';
  return status === 'failed' || status === 'cancelled' ? 'error' : 'success';
};

const toNumber = (value: unknown): number => (typeof value === 'number' ? value : 0);
