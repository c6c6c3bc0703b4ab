import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { isOverlapping } from '../../relay/provision-streams.ts';
import { defineConfig } from '../../shared/config/config.ts';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite, SITE_CONFIG } from '../support/relay-site.ts';

const HOUR_MS = 3_600_000;

describe('the streams', () => {
  it('are made as the documents have them where they are missing', async (t) => {
    const site = await relaySite(t);
    await site.relay();
    const jsm = await jetstreamManager(site.client);
    const found = new Map<string, unknown[]>();
    for await (const { config } of jsm.streams.list()) {
      const { subjects, retention, storage, max_age, max_msg_size, max_msgs_per_subject } = config;
      found.set(config.name, [subjects.join(' '), retention, storage, max_age, max_msg_size, max_msgs_per_subject]);
    }
    const hours = (count: number) => nanos(count * HOUR_MS);
    const MIB = 1024 * 1024;
    const expected = {
      ROUNDTABLE_TASKS: ['roundtable.tasks.>', 'workqueue', 'file', hours(24), MIB, -1],
      ROUNDTABLE_RESULTS: ['roundtable.results.>', 'limits', 'file', hours(7 * 24), 4 * MIB, -1],
      ROUNDTABLE_EVENTS: ['roundtable.events.>', 'limits', 'file', hours(30 * 24), MIB, -1],
      ROUNDTABLE_HEARTBEAT: ['roundtable.heartbeat.>', 'limits', 'memory', hours(1), -1, 5],
      PARLEY_DEAD_LETTERS: ['parley.dead-letters.>', 'limits', 'file', hours(30 * 24), -1, -1],
    };
    for (const [name, config] of Object.entries(expected)) assert.deepEqual(found.get(name), config, name);
  });

  it('are left as they are where they exist, also under another name, and the differences are said', async (t) => {
    const site = await relaySite(t);
    const jsm = await jetstreamManager(site.client);
    await jsm.streams.add({ name: 'ROUNDTABLE_EVENTS', subjects: ['roundtable.events.>'], max_age: nanos(HOUR_MS) });
    await jsm.streams.add({ name: 'RESULTS', subjects: ['roundtable.results.>'] });
    await site.relay();
    assert.equal((await jsm.streams.info('ROUNDTABLE_EVENTS')).config.max_age, nanos(HOUR_MS));
    const said = site.logged.filter((line) => line.includes('left as it is'));
    assert.equal(said.length, 2);
    assert.match(said.join('\n'), /"stream":"ROUNDTABLE_EVENTS".*max_age is 3600000000000, not 2592000000000000/);
    assert.match(said.join('\n'), /"stream":"RESULTS"/);
    // What is said there is heard all the same.
    const { config } = await jsm.consumers.info('RESULTS', 'parley-default-results');
    assert.equal(config.filter_subject, 'roundtable.results.>');
  });

  it('bear the names that the configuration gives them, and a task goes round on its subjects', async (t) => {
    const fleet = {
      prefix: 'fleet-a',
      streams: { tasks: 'fleet_a_tasks', results: 'fleet_a_results' },
      tasksRetention: 'limits' as const,
    };
    const config = defineConfig({ ...SITE_CONFIG, dialects: { 'round-table': { nats: { default: fleet } } } });
    const site = await relaySite(t, { config });
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    await site.relay();
    const { config: made } = await (await jetstreamManager(site.client)).streams.info('fleet_a_tasks');
    assert.deepEqual([made.subjects, made.retention], [['fleet-a.tasks.>'], 'limits']);
    const tasks = await consumerOf(site.client, 'fleet_a_tasks', { durable_name: 'galahad' });
    const id = await tim.request();
    assert.equal((await nextOf(tasks)).subject, 'fleet-a.tasks.security.briefing');
    const result = about('task.result', 'galahad', id, { status: 'completed', result: {} });
    const js = jetstream(site.client);
    await js.publish(`roundtable.results.security.${id}`, JSON.stringify(result)).catch(() => {});
    await js.publish(`fleet-a.results.security.${id}`, JSON.stringify(result));
    assert.equal((await tim.task(id, 10)).state, 'completed');
  });

  it('a domain that is read on-prem and in the cloud is refused at the start, with who reads it', async (t) => {
    const site = await relaySite(t);
    const jsm = await jetstreamManager(site.client);
    await jsm.streams.add({ name: 'ROUNDTABLE_TASKS', subjects: ['roundtable.tasks.>'], retention: 'workqueue' });
    await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
      durable_name: 'bedivere',
      filter_subject: 'roundtable.tasks.*.news',
    });
    await assert.rejects(site.relay(), (error: Error) => {
      assert.match(error.message, /roundtable\.tasks\.intel\.> is read in ROUNDTABLE_TASKS by the consumer bedivere/);
      assert.match(error.message, /give it via: 'nats' in parley\.config\.ts, or remove the consumer/);
      return true;
    });
  });

  it('a domain that moves on-prem makes room for its knights', async (t) => {
    const nats = SITE_CONFIG.projects.default?.domains.security;
    const config = defineConfig({
      ...SITE_CONFIG,
      projects: { default: { domains: { security: { description: '' }, intel: { description: '' } }, relay: true } },
    });
    const site = await relaySite(t, { config });
    const before = await site.relay();
    await before.stop();
    Object.assign(config.projects.default?.domains.security ?? {}, nats);
    await site.relay();
    // A workqueue refuses a second consumer of a subject.
    await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
      durable_name: 'k',
      filter_subject: 'roundtable.tasks.security.>',
    });
  });

  it('what was said while no relay ran is brought by the next one, through the same durables', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const first = await site.relay();
    await first.stop();
    const jsm = await jetstreamManager(site.client);
    const created = async () => (await jsm.consumers.info('ROUNDTABLE_TASKS', 'parley-default-tasks-intel')).created;
    const before = await created();
    const request = taskRequest('tim', { payload: { task: 'intel.news' } });
    await jetstream(site.client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
    await site.relay();
    await eventually(async () => {
      assert.equal((await site.admin.call('GET', `/v1/tasks/${request.id}`)).status, 200);
    });
    assert.equal(await created(), before);
  });

  it('overlap where some subject matches both', () => {
    const cases: [string, string, boolean][] = [
      ['a.b', 'a.b', true],
      ['a.b', 'a.c', false],
      ['a.>', 'a.b.c', true],
      ['a.>', 'a', false],
      ['a.*.c', 'a.b.>', true],
      ['a.*', 'a.b.c', false],
      ['>', 'x', true],
    ];
    for (const [one, other, expected] of cases) {
      assert.equal(isOverlapping(one, other), expected, `${one} ${other}`);
      assert.equal(isOverlapping(other, one), expected, `${other} ${one}`);
    }
  });
});
