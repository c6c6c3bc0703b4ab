export type Direction = 'up' | 'down';

/** What the relay counts, each way. */
const COUNTERS = {
  messages: 'messages that were carried over',
  bytes: 'bytes of their payloads',
  retries: 'messages that had to be tried again',
  dead: 'messages that were given up and kept in parley.dead',
  told: 'messages that were refused because somebody else was first, and whose senders were told',
  skipped: 'messages that needed no carrying: brought by a relay, or no longer wanted',
} as const;
type Counter = keyof typeof COUNTERS;

/** What is asked for when somebody looks. */
export interface Gauges {
  /** Messages that wait, by what they wait for. */
  lag: Record<string, number>;
  /** How long the oldest of them has. */
  waitingSeconds: Record<string, number>;
  isConnected: boolean;
}

const DIRECTIONS: Direction[] = ['up', 'down'];

export class Metrics {
  readonly #counts = new Map<string, number>();
  readonly #oldest: Record<Direction, { sentAt: number; seenAt: number } | undefined> = {
    up: undefined,
    down: undefined,
  };

  count(direction: Direction, counter: Counter, amount = 1): void {
    const name = `${counter} ${direction}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + amount);
  }

  counted(direction: Direction, counter: Counter): number {
    return this.#counts.get(`${counter} ${direction}`) ?? 0;
  }

  /** How old the message was that was carried over last. */
  saw(direction: Direction, sentAt: number): void {
    this.#oldest[direction] = { sentAt, seenAt: Date.now() };
  }

  json({ lag, waitingSeconds, isConnected }: Gauges): object {
    const each = (direction: Direction) =>
      Object.fromEntries(COUNTER_NAMES.map((counter) => [counter, this.counted(direction, counter)]));
    return {
      connected: isConnected,
      up: { ...each('up'), oldestSeconds: this.#oldestSeconds('up'), lag, waitingSeconds },
      down: { ...each('down'), oldestSeconds: this.#oldestSeconds('down') },
      residentBytes: process.memoryUsage.rss(),
    };
  }

  prometheus({ lag, waitingSeconds, isConnected }: Gauges): string {
    const lines = COUNTER_NAMES.flatMap((counter) => [
      ...described(`parley_relay_${counter}_total`, 'counter', COUNTERS[counter]),
      ...DIRECTIONS.map((way) => `parley_relay_${counter}_total{direction="${way}"} ${this.counted(way, counter)}`),
    ]);
    return [
      ...lines,
      ...described('parley_relay_lag_messages', 'gauge', 'messages on NATS that wait for the relay'),
      ...Object.entries(lag).map(([source, waiting]) => `parley_relay_lag_messages{source="${source}"} ${waiting}`),
      ...described('parley_relay_waiting_seconds', 'gauge', 'how long the oldest of them has waited'),
      ...Object.entries(waitingSeconds).map(
        ([source, seconds]) => `parley_relay_waiting_seconds{source="${source}"} ${seconds}`,
      ),
      ...described('parley_relay_oldest_seconds', 'gauge', 'how long the last message had waited when it was taken'),
      ...DIRECTIONS.map((way) => `parley_relay_oldest_seconds{direction="${way}"} ${this.#oldestSeconds(way)}`),
      ...described('parley_relay_connected', 'gauge', 'whether NATS is connected'),
      `parley_relay_connected ${isConnected ? 1 : 0}`,
      ...described('parley_relay_resident_bytes', 'gauge', 'the memory of the process'),
      `parley_relay_resident_bytes ${process.memoryUsage.rss()}`,
      '',
    ].join('\n');
  }

  #oldestSeconds(direction: Direction): number {
    const oldest = this.#oldest[direction];
    return oldest ? Math.max(0, oldest.seenAt - oldest.sentAt) / 1000 : 0;
  }
}

const isCounter = (name: string): name is Counter => Object.hasOwn(COUNTERS, name);
const COUNTER_NAMES = Object.keys(COUNTERS).filter(isCounter);

const described = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];
