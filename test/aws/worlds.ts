import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import baseConfig from '../../parley.config.ts';
import type { Config } from '../../shared/config/config.ts';
import { dispatchChanges } from '../../shared/effects/dispatcher.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { onTimer } from '../../shared/effects/record-handlers.ts';
import { type AwsClients, createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { type AwsEngine, createAwsEngine } from '../../shared/engines/aws/aws-engine.ts';
import type { StorageSchema } from '../../shared/engines/aws/item-codec.ts';
import { createGuardedSender } from '../../shared/engines/outbound/guarded-sender.ts';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { buildQueueSuffix } from '../../shared/ports/queue-names.ts';
import type { Item, RecordChange } from '../../shared/ports/records.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';
import { StreamFollower } from '../support/stream-follower.ts';
import { TestClock } from '../support/test-clock.ts';

export const TABLE = 'worlds';
const BUCKET = 'contents';
const FETCH_MS = 20;
/** A stream may bring any batch once more. */
const AGAIN_EVERY = 8;

/**
 * One project on DynamoDB Local, in a time of its own. What follows from its changes, and from its time, is carried out as the
 * stream's function and the timers do, in batches, while the test goes on.
 */
export class AwsWorld {
  readonly project: string;
  readonly deps: Deps;
  /** What could not be carried out. */
  readonly faults: unknown[] = [];
  /** Every change of a watched record, in the order of the stream. */
  onChange: (change: RecordChange) => void = () => {};
  readonly #clock: TestClock;
  readonly #nextFetch: () => Promise<void>;
  /** What waits for its time, as far as the stream has told. */
  readonly #due = new Map<string, Item>();
  #given: RecordChange[] = [];
  #count = 0;
  #batches = 0;
  #work: Promise<void> = Promise.resolve();

  constructor(project: string, deps: Deps, clock: TestClock, nextFetch: () => Promise<void>) {
    this.project = project;
    this.deps = deps;
    this.#clock = clock;
    this.#nextFetch = nextFetch;
  }

  give(change: RecordChange): void {
    this.#given.push(change);
    this.#count += 1;
    this.#then(() => this.#carryOut());
  }

  advance(ms: number): void {
    this.#clock.advance(ms);
    this.#then(() => this.#fire());
  }

  /** Until nothing more follows from what has been written so far. */
  async settled(): Promise<void> {
    for (;;) {
      await this.#work;
      const count = this.#count;
      await this.#nextFetch();
      if (count === this.#count) return;
    }
  }

  #then(next: () => Promise<void>): void {
    this.#work = this.#work.then(next).catch((error) => {
      this.faults.push(error);
    });
  }

  async #carryOut(): Promise<void> {
    const changes = this.#given;
    if (changes.length === 0) return;
    this.#given = [];
    for (const change of changes) {
      this.onChange(change);
      const { pk = '' } = change.after ?? change.before ?? {};
      if (change.after?.due === undefined) this.#due.delete(pk);
      else this.#due.set(pk, change.after);
    }
    await dispatchChanges(this.deps, changes);
    this.#batches += 1;
    if (this.#batches % AGAIN_EVERY === 0) await dispatchChanges(this.deps, changes);
    await this.#fire();
  }

  async #fire(): Promise<void> {
    const now = this.#clock.now();
    for (const { pk, sk } of [...this.#due.values()].filter(({ due = Infinity }) => due <= now)) {
      this.#due.delete(pk);
      const record = await this.deps.records.get<Item>({ pk, sk });
      if (record?.due !== undefined && record.due <= now) await onTimer(this.deps, record);
    }
  }
}

/** Worlds beside each other in one table, whose stream they share. */
export const startWorlds = async (
  t: { after(cleanUp: () => unknown): void },
  count: number,
  ...watched: string[]
): Promise<{ worlds: AwsWorld[]; dynamo: DynamoDBClient }> => {
  const { services, clients, dynamo } = await startTable();
  const names = Array.from({ length: count }, (_, number) => `world${number}`);
  const domains = baseConfig.projects.default?.domains ?? {};
  const config = {
    ...baseConfig,
    projects: Object.fromEntries(names.map((name) => [name, { domains, relay: false }])),
  };
  const follower = new StreamFollower(services.dynamo, TABLE, ...watched);
  const running = new AbortController();
  let fetches = Promise.withResolvers<void>();
  /** The fetch that is under way may have begun too early. */
  const nextFetch = async () => {
    await fetches.promise;
    await fetches.promise;
  };
  const worlds = new Map(names.map((name) => [name, worldOn(services, clients, config, name, nextFetch)]));
  const [anyEngine] = [...worlds.values()].map(({ engine }) => engine);
  if (!anyEngine) throw new Error('there is no world');
  const following = (async () => {
    for (; !running.signal.aborted; await pause(FETCH_MS)) {
      for (const change of await follower.fetched(anyEngine)) {
        const [project = ''] = (change.after ?? change.before)?.pk.split('#') ?? [];
        worlds.get(project)?.world.give(change);
      }
      const ended = fetches;
      fetches = Promise.withResolvers();
      ended.resolve();
    }
  })();
  t.after(async () => {
    await Promise.all([...worlds.values()].map(({ world }) => world.settled()));
    running.abort();
    await following;
    follower.close();
    dynamo.destroy();
    clients.sqs.destroy();
    await services.stop();
  });
  return { worlds: [...worlds.values()].map(({ world }) => world), dynamo };
};

/** The engine on the table, in the time of a clock. */
export const engineOn = (
  services: AwsServices,
  clients: AwsClients,
  clock: TestClock,
  delayQueue: string,
  storageSchema: StorageSchema = RECORDS,
): AwsEngine =>
  createAwsEngine({
    clients,
    table: TABLE,
    bucket: BUCKET,
    queueUrlPrefix: `${services.faux.endpoint}/000000000000/`,
    delayQueueUrl: services.queues.createQueue(delayQueue).queueUrl,
    toQueueSuffix: buildQueueSuffix,
    hasQueue: () => false,
    log: () => {},
    storageSchema,
    eventRetentionMs: baseConfig.events.retentionMs,
    clock,
    newId: randomUUID,
    publishExternally: async () => {},
  });

export const depsOn = (engine: AwsEngine, clock: TestClock, config: Config): Deps => ({
  ...engine.ports,
  clock,
  config,
  newId: randomUUID,
  httpSender: createGuardedSender({ allowsPrivate: false }),
  directory: createDirectory(engine.ports.records, clock),
  log: () => {},
  recordMetric: () => {},
});

/** Services with the table and the bucket, and clients of them. */
export const startTable = async (): Promise<{ services: AwsServices; clients: AwsClients; dynamo: DynamoDBClient }> => {
  const services = await startAwsServices();
  services.queues.createBucket(BUCKET);
  await services.createTable(TABLE);
  const { sqs, s3 } = createAwsClients(services.faux);
  // However slow the machine is, no call may have an end that nobody learns: a test counts on what it was answered.
  const dynamo = new DynamoDBClient({ ...services.dynamo, maxAttempts: 4 });
  return { services, clients: { dynamo, sqs, s3 }, dynamo };
};

const worldOn = (
  services: AwsServices,
  clients: AwsClients,
  config: Config,
  project: string,
  nextFetch: () => Promise<void>,
): { world: AwsWorld; engine: AwsEngine } => {
  // What expires must not have done so by the time of the table.
  const clock = new TestClock(Date.now());
  const engine = engineOn(services, clients, clock, `delay-${project}`);
  return { world: new AwsWorld(project, depsOn(engine, clock, config), clock, nextFetch), engine };
};
