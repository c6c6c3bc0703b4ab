import { formatMetricHeader } from '../shared/kernel/metrics.ts';

export type RelayDirection = 'ingress' | 'egress';

const COUNTER_HELP = {
  messages: 'messages that were carried over',
  bytes: 'bytes of their payloads',
  retries: 'messages that had to be tried again',
  dead_letters: 'messages that were given up and kept in parley.dead-letters',
  rejected: 'messages that were refused because somebody else was first, and whose senders were told',
  skipped: 'messages that needed no carrying: brought by a relay, no longer wanted, or about no task of Parley',
} as const;
type RelayCounter = keyof typeof COUNTER_HELP;

export interface RelayGauges {
  lag: Record<string, number>;
  waitingSeconds: Record<string, number>;
  isConnected: boolean;
}

const DIRECTIONS: RelayDirection[] = ['ingress', 'egress'];

export class RelayMetrics {
  readonly #counts = new Map<string, number>();
  readonly #oldest: Record<RelayDirection, { sentAt: number; seenAt: number } | undefined> = {
    ingress: undefined,
    egress: undefined,
  };

  increment(direction: RelayDirection, counter: RelayCounter, amount = 1): void {
    const name = `${counter} ${direction}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + amount);
  }

  getCount(direction: RelayDirection, counter: RelayCounter): number {
    return this.#counts.get(`${counter} ${direction}`) ?? 0;
  }

  recordAge(direction: RelayDirection, sentAt: number): void {
    this.#oldest[direction] = { sentAt, seenAt: Date.now() };
  }

  toJson({ lag, waitingSeconds, isConnected }: RelayGauges): object {
    const each = (direction: RelayDirection) =>
      Object.fromEntries(COUNTER_NAMES.map((counter) => [counter, this.getCount(direction, counter)]));
    return {
      connected: isConnected,
      ingress: { ...each('ingress'), oldestSeconds: this.#computeOldestSeconds('ingress'), lag, waitingSeconds },
      egress: { ...each('egress'), oldestSeconds: this.#computeOldestSeconds('egress') },
      residentBytes: process.memoryUsage.rss(),
    };
  }

  toPrometheus({ lag, waitingSeconds, isConnected }: RelayGauges): string {
    const lines = COUNTER_NAMES.flatMap((counter) => [
      ...formatMetricHeader(`parley_relay_${counter}_total`, 'counter', COUNTER_HELP[counter]),
      ...DIRECTIONS.map(
        (direction) => `parley_relay_${counter}_total{direction="${direction}"} ${this.getCount(direction, counter)}`,
      ),
    ]);
    return [
      ...lines,
      ...formatMetricHeader('parley_relay_lag_messages', 'gauge', 'messages on NATS that wait for the relay'),
      ...Object.entries(lag).map(([source, waiting]) => `parley_relay_lag_messages{source="${source}"} ${waiting}`),
      ...formatMetricHeader('parley_relay_oldest_pending_seconds', 'gauge', 'how long the oldest of them has waited'),
      ...Object.entries(waitingSeconds).map(
        ([source, seconds]) => `parley_relay_oldest_pending_seconds{source="${source}"} ${seconds}`,
      ),
      ...formatMetricHeader(
        'parley_relay_last_message_age_seconds',
        'gauge',
        'how long the last message had waited when it was taken',
      ),
      ...DIRECTIONS.map(
        (direction) =>
          `parley_relay_last_message_age_seconds{direction="${direction}"} ${this.#computeOldestSeconds(direction)}`,
      ),
      ...formatMetricHeader('parley_relay_connected', 'gauge', 'whether NATS is connected'),
      `parley_relay_connected ${isConnected ? 1 : 0}`,
      ...formatMetricHeader('parley_relay_resident_bytes', 'gauge', 'the memory of the process'),
      `parley_relay_resident_bytes ${process.memoryUsage.rss()}`,
      '',
    ].join('\n');
  }

  #computeOldestSeconds(direction: RelayDirection): number {
    const oldest = this.#oldest[direction];
    return oldest ? Math.max(0, oldest.seenAt - oldest.sentAt) / 1000 : 0;
  }
}

const isCounter = (name: string): name is RelayCounter => Object.hasOwn(COUNTER_HELP, name);
const COUNTER_NAMES = Object.keys(COUNTER_HELP).filter(isCounter);
