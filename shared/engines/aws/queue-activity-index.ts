import { DAY_MS } from '../../kernel/retention.ts';
import type { Clock } from '../../ports/clock.ts';
import { equals } from '../../ports/conditions.ts';
import { getDomain, PRIORITIES, type Priority, type QueueKey } from '../../ports/queues.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import type { Ring } from './ring-on-writes.ts';

/**
 * An empty SQS receive costs four times this read. So queues without recent sends are skipped, except a domain's normal
 * queue.
 */
export interface QueueActivity extends Item, Partial<Record<Priority, number>> {}

const QUEUES_PER_ROUND = 8;

export interface QueueActivityStore {
  records: Records;
  clock: Clock;
  newId: () => string;
}

/** A task waits at most 7 days for a claim. */
export const ACTIVE_MS = 8 * DAY_MS;
const REWRITE_AFTER_MS = DAY_MS;

export const queueActivityRef = ({ project, kind, name }: Omit<QueueKey, 'priority'>): Ref<QueueActivity> => {
  const domain = kind === 'capability' ? getDomain(name) : undefined;
  const whose = domain === undefined ? `${kind}#${name}` : `domain#${domain}`;
  return { pk: `${project}#queue-activity#${whose}`, sk: 'queue-activity' };
};

/** No dots in the field: a path would end at the first one. */
export const toActivityField = ({ kind, name, priority }: QueueKey): string =>
  kind === 'capability' && getDomain(name) !== undefined
    ? `${priority}/${encodeURIComponent(name).replaceAll('.', '%2E')}`
    : priority;

const parseActivityField = (field: string, priority: Priority): string | undefined =>
  field.startsWith(`${priority}/`) ? decodeURIComponent(field.slice(priority.length + 1)) : undefined;

export const isAlwaysActive = ({ kind, priority }: QueueKey): boolean =>
  kind === 'relay' || (kind === 'domain' && priority === 'normal');

export const getLastSentAt = (activityIndex: object, field: string): number => {
  const at: unknown = Object.hasOwn(activityIndex, field) ? Reflect.get(activityIndex, field) : undefined;
  return typeof at === 'number' ? at : 0;
};

export class QueueActivityIndex {
  readonly #store: QueueActivityStore;
  readonly #writtenAt = new Map<string, number>();
  #rounds = 0;

  readonly #ring: Ring | undefined;

  constructor(memory: QueueActivityStore, ring?: Ring) {
    this.#store = memory;
    this.#ring = ring;
  }

  /** Must be stored before the sender is answered; otherwise receivers skip the queue. */
  async recordActivity(queueKeys: QueueKey[]): Promise<void> {
    const { records, clock, newId } = this.#store;
    const now = clock.now();
    const unwritten = new Map(
      queueKeys
        .filter((queueKey) => !isAlwaysActive(queueKey))
        .map((queueKey) => [`${queueActivityRef(queueKey).pk}#${toActivityField(queueKey)}`, queueKey] as const)
        .filter(([name]) => (this.#writtenAt.get(name) ?? 0) < now - REWRITE_AFTER_MS),
    );
    await Promise.all(
      [...unwritten].map(async ([name, queueKey]) => {
        const written = await records.update(
          queueActivityRef(queueKey),
          { set: { [toActivityField(queueKey)]: now } },
          newId(),
          'orCreate',
        );
        this.#writtenAt.set(name, now);
        await this.#ring?.([queueActivityRef(queueKey).pk]);
        if (written.outcome === 'written') await this.#deleteInactive(written.after);
      }),
    );
  }

  async #deleteInactive(activityIndex: QueueActivity): Promise<void> {
    const { records, clock, newId } = this.#store;
    const since = clock.now() - ACTIVE_MS;
    const unused = Object.entries(activityIndex).filter(([field, at]) => field.includes('/') && Number(at) <= since);
    if (unused.length === 0) return;
    await records.update(
      activityIndex,
      { if: equals('v', activityIndex.v), unset: unused.map(([field]) => field) },
      newId(),
    );
  }

  async listActive(queueKeys: QueueKey[]): Promise<QueueKey[]> {
    const books = await this.#read(queueKeys);
    const since = this.#store.clock.now() - ACTIVE_MS;
    this.#rounds += 1;
    const inTurn = new Map(
      [...books].map(([pk, activityIndex]) => [pk, this.#capabilitiesInTurn(activityIndex, since)]),
    );
    return queueKeys.flatMap((queueKey) => {
      const activityIndex: object = books.get(queueActivityRef(queueKey).pk) ?? {};
      const isInUse = isAlwaysActive(queueKey) || getLastSentAt(activityIndex, toActivityField(queueKey)) > since;
      const own = isInUse ? [queueKey] : [];
      if (queueKey.kind !== 'domain') return own;
      const within = this.#pickCapabilityQueues(queueKey, activityIndex, since).filter(({ name }) =>
        inTurn.get(queueActivityRef(queueKey).pk)?.has(name),
      );
      // The order alternates, so that neither kind of queue starves.
      return this.#rounds % 2 === 0 ? [...within, ...own] : [...own, ...within];
    });
  }

  #pickCapabilityQueues({ project, priority }: QueueKey, activityIndex: object, since: number): QueueKey[] {
    return this.#capabilities(activityIndex, priority, since).map(
      (name): QueueKey => ({ project, kind: 'capability', name, priority }),
    );
  }

  async #read(queueKeys: QueueKey[]): Promise<Map<string, QueueActivity>> {
    const refs = [
      ...new Map(queueKeys.map((queueKey) => [queueActivityRef(queueKey).pk, queueActivityRef(queueKey)])).values(),
    ];
    const books = await this.#store.records.getMany(refs);
    return new Map(books.map((activityIndex) => [activityIndex.pk, activityIndex]));
  }

  #capabilitiesInTurn(activityIndex: QueueActivity, since: number): Set<string> {
    const names = PRIORITIES.flatMap((priority) => this.#capabilities(activityIndex, priority, since));
    const all = [...new Set(names)].toSorted();
    if (all.length <= QUEUES_PER_ROUND) return new Set(all);
    const first = (this.#rounds * QUEUES_PER_ROUND) % all.length;
    return new Set([...all, ...all].slice(first, first + QUEUES_PER_ROUND));
  }

  #capabilities(activityIndex: object, priority: Priority, since: number): string[] {
    return Object.keys(activityIndex).flatMap((field) =>
      getLastSentAt(activityIndex, field) > since ? (parseActivityField(field, priority) ?? []) : [],
    );
  }
}
