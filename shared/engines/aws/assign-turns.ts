import { RecentMap } from '../../kernel/recent-map.ts';
import type { QueueKey, QueueShare } from '../../ports/queues.ts';
import { type QueueActivity, type QueueActivityStore, queueActivityRef } from './queue-activity-index.ts';

/** A requester has a turn each so often in a queue, as far as one process knows. */
const TURN_MS = 200;
/** With so many turns ahead of time, a requester has more tasks than others should wait for. */
const MAX_TURNS_AHEAD = 20;
/** Then its tasks are as old as any. */
const MAX_AHEAD_MS = 3600_000;
const MAX_REQUESTERS = 10_000;

const CROWDED_MS = 10 * 60_000;
/** Others know it at most so much later. */
const CACHE_MS = 2000;

/** No slash in the field: that of a capability has one. */
const toCrowdedField = ({ priority }: QueueKey): string => `crowded-${priority}`;

/**
 * SQS gives what came first, whoever sent it. So where one requester has many tasks in the queue of a domain, the few of others wait
 * in the list of the domain instead, which every claim asks too. In lists, the time of its turn is the place of a task.
 */
export class TurnAssigner {
  readonly #store: QueueActivityStore;
  readonly #lastTurns = new RecentMap<string, number>(MAX_REQUESTERS);
  readonly #crowded = new RecentMap<string, { until: number; readAt: number }>(MAX_REQUESTERS);

  constructor(store: QueueActivityStore) {
    this.#store = store;
  }

  async assignTurn(queueKey: QueueKey, { requester }: QueueShare): Promise<number | undefined> {
    const now = this.#store.clock.now();
    const turn = this.#takeTurn(`${formatQueue(queueKey)}/${requester}`, now);
    const hasMany = turn - now > TURN_MS * MAX_TURNS_AHEAD;
    if (queueKey.kind !== 'domain') return hasMany ? turn : undefined;
    const until = await this.#readCrowdedUntil(queueKey, now);
    if (!hasMany) return until > now ? now : undefined;
    await this.markCrowded(queueKey);
    return undefined;
  }

  /** Written once in five minutes, by each process that sees it. */
  async markCrowded(queueKey: QueueKey): Promise<void> {
    const { records, clock, newId } = this.#store;
    const now = clock.now();
    if ((await this.#readCrowdedUntil(queueKey, now)) > now + CROWDED_MS / 2) return;
    const until = now + CROWDED_MS;
    this.#crowded.set(formatQueue(queueKey), { until, readAt: now });
    await records.update(
      queueActivityRef(queueKey),
      { set: { [toCrowdedField(queueKey)]: until } },
      newId(),
      'orCreate',
    );
  }

  #takeTurn(name: string, now: number): number {
    const turn = Math.min(Math.max(now, (this.#lastTurns.get(name) ?? 0) + TURN_MS), now + MAX_AHEAD_MS);
    this.#lastTurns.set(name, turn);
    return turn;
  }

  async #readCrowdedUntil(queueKey: QueueKey, now: number): Promise<number> {
    const name = formatQueue(queueKey);
    const known = this.#crowded.get(name);
    if (known && now - known.readAt < CACHE_MS) return known.until;
    const activity: QueueActivity | undefined = await this.#store.records.get(queueActivityRef(queueKey));
    const until: unknown = activity && Reflect.get(activity, toCrowdedField(queueKey));
    const crowded = { until: typeof until === 'number' ? until : 0, readAt: now };
    this.#crowded.set(name, crowded);
    return crowded.until;
  }
}

const formatQueue = ({ project, kind, name, priority }: QueueKey): string => `${project}/${kind}/${name}/${priority}`;
