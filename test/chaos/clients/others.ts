import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { EventStream } from '../../e2e/event-stream.ts';
import { type TestAgent, taskRequest } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { marksIn, toTaskKey } from '../history.ts';
import { ADMIN_KEY } from '../process/job.ts';
import { CAPABILITY } from './requester.ts';
import { newMark, newUuid, pick, type World } from './world.ts';

/** Messages that are no tasks, numbered by their marks. */
export const writeNotes = async (
  world: World,
  from: TestAgent,
  readers: { to: string; onNats?: true }[],
  count: number,
) => {
  const random = world.randomOf(`notes of ${from.id}`);
  const { recorder } = world;
  for (let left = count; left > 0; left--) {
    const mark = newMark(random);
    const { to, onNats } = pick(random, readers);
    const message = { kind: 'message', id: newUuid(random), to, content: { mark } };
    for (let times = random() < 0.3 ? 2 : 1; times > 0; times--) {
      const begun = recorder.tick();
      const { status } = await from.send(message);
      recorder.add({ kind: 'noted', begun, to, mark, isAccepted: status < 300, ...(onNats && { onNats }) });
    }
    await pause(random() * 150);
  }
};

/** Reads the live stream, dawdles over every few events, and is cut off now and then. */
export const readSlowly = async (world: World): Promise<void> => {
  const random = world.randomOf('the slow reader');
  const { recorder, system } = world;
  let lastId: string | undefined = (await world.calmAdmin.call('GET', '/v1/events?limit=1')).body.cursor;
  while (!world.isOver) {
    const port = pick(random, system.instances).port;
    const stream = new EventStream(`http://127.0.0.1:${port}`, ADMIN_KEY, lastId);
    try {
      for await (const event of stream.read()) {
        const begun = recorder.tick();
        if (event) recorder.add({ kind: 'streamed', begun, id: event.id });
        lastId = stream.lastId;
        if (world.isOver) break;
        if (!world.isCalm && random() < 0.1) await pause(random() * 100);
        if (!world.isCalm && random() < 0.01) break;
      }
    } catch {
      await pause(20);
    }
  }
};

/** Someone who has nothing but NATS: asks there, and what is for it arrives there. */
export class Knight {
  readonly id = 'knight';
  readonly #world: World;
  readonly #client: NatsConnection;

  private constructor(world: World, client: NatsConnection) {
    this.#world = world;
    this.#client = client;
  }

  static async connect(world: World, url: string): Promise<Knight> {
    await world.register('knight', { dialect: 'round-table', capabilities: [], transport: 'nats' });
    await world.register('squire', { dialect: 'agent-os', capabilities: [], transport: 'nats' });
    return new Knight(world, await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 100 }));
  }

  async ask(count: number): Promise<void> {
    const random = this.#world.randomOf(this.id);
    const { recorder } = this.#world;
    const js = jetstream(this.#client, { timeout: 1000 });
    for (let left = count; left > 0; left--) {
      const mark = newMark(random);
      const request = taskRequest(this.id, { id: newUuid(random), payload: { task: CAPABILITY, params: { mark } } });
      const begun = recorder.tick();
      // One that gets no answer publishes it again under the same id, as a careful one does.
      const text = JSON.stringify(request);
      await eventually(() => js.publish('roundtable.tasks.security.briefing', text, { msgID: request.id }), 30_000);
      const about = { by: this.id, dialect: 'round-table', task: toTaskKey(request.id), id: request.id, mark };
      recorder.add({ kind: 'asked', begun, ...about, isAccepted: true, isDuplicate: false, onNats: true });
      await pause(random() * 200);
    }
  }

  /** The marks in every message that is for somebody on NATS. */
  async received(): Promise<string[][]> {
    const jsm = await jetstreamManager(this.#client);
    const found: string[][] = [];
    for (const stream of ['ROUNDTABLE_RESULTS', 'PARLEY_default']) {
      const { state } = await jsm.streams.info(stream);
      for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
        const message = await jsm.streams.getMessage(stream, { seq }).catch(() => null);
        if (message) found.push(marksIn(message.json()));
      }
    }
    return found;
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Every minute of the clock, whatever it does. */
export const SCHEDULE = { requester: 'clockwork', id: 'minutely' };

export const startSchedule = async (world: World): Promise<TestAgent> => {
  const agent = await world.register(SCHEDULE.requester, { dialect: 'native', capabilities: [] });
  const task = { capability: CAPABILITY, input: {}, ttlSeconds: 3600 };
  await agent.call('PUT', `/v1/schedules/${SCHEDULE.id}`, { cron: '* * * * *', missed: 'all', task });
  return agent;
};

/** No run is under way any more when it has been paused. */
export const endSchedule = async ({ recorder }: World, agent: TestAgent): Promise<void> => {
  const begun = recorder.tick();
  const path = `/v1/schedules/${SCHEDULE.id}`;
  await agent.call('POST', `${path}/pause`);
  const { body } = await agent.call('GET', path);
  recorder.add({ kind: 'scheduled', begun, id: SCHEDULE.requester, runs: body.runs });
};
