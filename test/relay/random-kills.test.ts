import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { taskRef } from '../../shared/model/task.ts';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type RelayProcess, relayQueues, startRelayProcess } from '../support/relay-process.ts';
import { type RelaySite, relaySite } from '../support/relay-site.ts';
import { isLong } from '../support/scale.ts';

/** Each way. */
const MESSAGES = isLong ? 10_000 : 1000;
const READERS = 50;
const AT_ONCE = 25;
const LONGEST_MS = 60_000 + MESSAGES * 40;

const party = (agentId: string) => ({ agentId, instanceId: agentId });

/** Notes from an agent in the cloud, numbered for each of its readers. */
const sendDown = async (site: RelaySite, readers: string[]): Promise<void> => {
  const oracle = await site.agent('oracle', { dialect: 'agent-os' });
  for (let sent = 0; sent < MESSAGES; sent += readers.length) {
    const messages = readers.map((to) => ({
      id: randomUUID(),
      timestamp: new Date().toISOString(),
      version: '1.0.0',
      from: party('oracle'),
      to: party(to),
      type: 'event',
      payload: { content: { number: sent / readers.length } },
    }));
    for (let at = 0; at < messages.length; at += AT_ONCE) {
      const batch = messages.slice(at, at + AT_ONCE);
      const { body } = await oracle.call('POST', '/v1/messages', { messages: batch });
      for (const { status } of body.results) assert.equal(status, 202);
    }
  }
};

/** Tasks from an agent on NATS; a publisher that gets no answer says it again under the same id, as a careful one does. */
const sendUp = async (site: RelaySite): Promise<string[]> => {
  const js = jetstream(site.client, { timeout: 2000 });
  const requests = Array.from({ length: MESSAGES }, () => taskRequest('tim', { payload: { task: 'intel.news' } }));
  for (let at = 0; at < MESSAGES; at += AT_ONCE) {
    await Promise.all(
      requests
        .slice(at, at + AT_ONCE)
        .map((request) =>
          eventually(
            () => js.publish('roundtable.tasks.intel.news', JSON.stringify(request), { msgID: request.id }),
            30_000,
          ),
        ),
    );
  }
  return requests.map(({ id }) => id);
};

/** What stands in each inbox on NATS. */
const received = async (site: RelaySite, readers: string[]): Promise<Map<string, { id: string; number: number }[]>> => {
  const jsm = await jetstreamManager(site.client);
  const { state } = await jsm.streams.info('PARLEY_default');
  const inboxes = new Map(readers.map((reader) => [reader, [] as { id: string; number: number }[]]));
  const consumer = await jetstream(site.client).consumers.get('PARLEY_default', {
    filter_subjects: 'parley.default.*.inbox',
  });
  const all = await consumer.fetch({ max_messages: state.messages, expires: 5000 });
  for await (const message of all) {
    // biome-ignore lint/suspicious/noExplicitAny: as the test sent it
    const { id, payload } = message.json<any>();
    inboxes.get(message.subject.split('.')[2] ?? '')?.push({ id, number: payload.content.number });
    if (message.info.pending === 0) break;
  }
  return inboxes;
};

describe('with relays and NATS killed at random', () => {
  it(`${MESSAGES} messages each way arrive, each once in effect, and downward in order`, {
    timeout: LONGEST_MS + 60_000,
  }, async (t) => {
    const queues = await relayQueues(t);
    const site = await relaySite(t, { through: queues.through });
    const env = {
      ...queues.env,
      PARLEY_URL: site.address,
      PARLEY_RELAY_KEY: site.key,
      NATS_SERVERS: site.nats.url,
      NATS_ACK_WAIT_SECONDS: '3',
      PARLEY_QUEUE_VISIBILITY_SECONDS: '3',
    };
    const readers = Array.from({ length: READERS }, (_, n) => `reader-${n}`);
    for (const reader of readers) await site.agent(reader, { dialect: 'agent-os', transport: 'nats' });
    await site.agent('tim', { transport: 'nats' });
    const relays: RelayProcess[] = [startRelayProcess(t, env), startRelayProcess(t, env)];
    await Promise.all(relays.map((relay) => relay.ready()));

    let isOver = false;
    const kills = { relay: 0, nats: 0 };
    const killing = (async () => {
      while (!isOver) {
        await pause(1000 + Math.random() * 1500);
        if (Math.random() < 0.3) {
          kills.nats++;
          await site.nats.kill();
          await pause(Math.random() * 500);
          await site.nats.start();
        } else {
          kills.relay++;
          const which = Math.floor(Math.random() * relays.length);
          await relays[which]?.kill('SIGKILL');
          relays[which] = startRelayProcess(t, env);
        }
      }
    })();
    const [ids] = await Promise.all([sendUp(site), sendDown(site, readers)]);
    await eventually(async () => {
      const jsm = await jetstreamManager(site.client);
      const { state } = await jsm.streams.info('PARLEY_default');
      assert.ok(state.messages >= MESSAGES, `${state.messages} came down`);
      const records = await site.parley.deps.records.getMany(ids.map((id) => taskRef('default', id)));
      assert.equal(records.length, MESSAGES, `${records.length} came up`);
    }, LONGEST_MS);
    isOver = true;
    await killing;

    const tasks = await site.parley.deps.records.getMany(ids.map((id) => taskRef('default', id)));
    assert.deepEqual([...new Set(tasks.map(({ v }) => v))], [1], 'a task that came twice changed nothing');
    const inboxes = await eventually(() => received(site, readers), 30_000);
    for (const [reader, inbox] of inboxes) {
      const numbers = Array.from({ length: MESSAGES / READERS }, (_, n) => n);
      assert.deepEqual(
        inbox.map(({ number }) => number),
        numbers,
        reader,
      );
    }
    t.diagnostic(`relays killed ${kills.relay} times, NATS ${kills.nats} times`);
  });
});
