import type { JsonObject } from '../kernel/json/json.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { formatSeriesKey, type SeriesKey, TOTAL } from './series.ts';
import type { CountName, TallyEntry } from './tally.ts';

/** What an event adds to which series. */
export interface CountedEvent {
  at: number;
  entry: TallyEntry;
  series: SeriesKey[];
}

const ENDS: Partial<Record<string, CountName>> = {
  'task.completed': 'completed',
  'task.failed': 'failed',
  'task.expired': 'expired',
  'task.cancelled': 'cancelled',
};

/** Undefined for what is not counted. */
export const countEvent = (event: ParleyEvent): CountedEvent | undefined => {
  const entry = toEntry(event);
  return entry && { at: event.at, entry, series: listSeries(event.data) };
};

/** What an event adds to each series. Undefined for what is not counted. */
export const toEntry = (event: ParleyEvent): TallyEntry | undefined => {
  const { type, data } = event;
  const counts = listCounts(event);
  if (counts.length === 0) return undefined;
  return {
    counts,
    errorCode:
      type === 'task.failed' ? (readText((data.error as JsonObject | undefined)?.code) ?? 'unknown') : undefined,
    claimMs: type === 'task.claimed' ? readNumber(data.queuedMs) : undefined,
    endMs: type in ENDS ? readNumber(data.tookMs) : undefined,
  };
};

const listCounts = ({ id, type, data }: ParleyEvent): CountName[] => {
  // A task that is in its queue again has waited there before, or waits for its delay.
  const queued: CountName[] = data.status === 'requested' && data.notBefore === undefined ? ['queued'] : [];
  const end = ENDS[type];
  if (end) return [end];
  if (type === 'task.requested') return [isCreation(id) ? 'submitted' : 'retried', ...queued];
  if (type === 'task.claimed') return ['claimed'];
  if (type === 'task.retrying') return ['retried', ...queued];
  if (type === 'task.released') return ['released', ...queued];
  return type === 'task.ready' || type === 'task.input_given' ? queued : [];
};

/** The id has the version of the record, which is 1 at first. */
const isCreation = (eventId: string): boolean => eventId.endsWith(':1:task.requested');

const listSeries = (data: JsonObject): SeriesKey[] => {
  const [domain, capability, requester, holder] = [data.domain, data.capability, data.from, data.agent].map(readText);
  const pair = requester !== undefined && holder !== undefined ? `${requester}/${holder}` : undefined;
  const names = { domain, capability, requester, holder, pair, queue: formatQueue(data) };
  return [
    TOTAL,
    ...Object.entries(names).flatMap(([dimension, name]) =>
      name === undefined ? [] : formatSeriesKey(dimension as keyof typeof names, name),
    ),
  ];
};

/** As the ids of `GET /v1/queues`. */
const formatQueue = ({ to, routingCapability, domain }: JsonObject): string | undefined => {
  if (typeof to === 'string') return `agent:${to}`;
  if (typeof routingCapability === 'string') return `capability:${routingCapability}`;
  return typeof domain === 'string' ? `domain:${domain}` : undefined;
};

const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const readNumber = (value: unknown): number | undefined => (typeof value === 'number' ? Math.max(0, value) : undefined);
