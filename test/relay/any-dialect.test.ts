import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { mrMessage } from '../support/message-routing.ts';
import { otlpReceiver } from '../support/otlp-receiver.ts';
import { inboxOf, nextOf, relaySite, SITE_CONFIG } from '../support/relay-site.ts';
import { tfRequest } from '../support/task-format.ts';

describe('an agent of any dialect with a NATS client', () => {
  it('is given tasks in its inbox, reports on parley.<project>.send, and asks for tasks there', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('cook', { dialect: 'task-format', transport: 'nats' });
    await site.relay();
    const js = jetstream(site.client);
    const send = (message: object) => js.publish('parley.default.send', JSON.stringify(message));
    const inbox = await inboxOf(site, 'cook');
    const id = await tim.request({ to: 'cook', payload: { task: 'intel.news' } });
    const given = await nextOf(inbox);
    assert.equal(given.body.id, id);
    assert.equal(given.body.routing.source, 'tim');
    await send({ id, status: 'completed', result: { text: 'stew' }, metadata: { agent: 'cook' } });
    assert.equal((await tim.task(id, 10)).state, 'completed');

    const galahad = await site.agent('galahad', { capabilities: ['intel.news'] });
    const own = randomUUID();
    await send({ id: own, type: 'intel.news', payload: {}, routing: { source: 'cook' }, context: {} });
    await galahad.claim({ wait: 10 });
    await galahad.complete(own, { content: 'read all about it' });
    const [claimed, done] = [await nextOf(inbox), await nextOf(inbox)];
    assert.equal(claimed.body.status, 'pending');
    assert.equal(done.body.status, 'completed');
    assert.deepEqual(done.body.result, { content: 'read all about it' });
  });

  it('is given the trace of a task in headers, and it goes on with what the agent asks for as a part of it', async (t) => {
    const collector = await otlpReceiver(t);
    const tracing = { ...SITE_CONFIG.tracing, endpoint: collector.url };
    const site = await relaySite(t, { config: { ...SITE_CONFIG, tracing } });
    const tim = await site.agent('tim', { dialect: 'task-format' });
    await site.agent('cook', { dialect: 'message-routing', transport: 'nats' });
    await site.agent('lance', { dialect: 'round-table', transport: 'nats' });
    await site.relay();
    const [cooks, lances] = [await inboxOf(site, 'cook'), await inboxOf(site, 'lance')];
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = {
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      tracestate: 'vendor=1',
      baggage: 'tenant=blue',
    };
    const request = tfRequest({ type: 'intel.news', routing: { target: 'cook' } });
    assert.equal((await tim.call('POST', '/v1/messages', request, headers)).status, 202);
    const given = await nextOf(cooks);
    const child = mrMessage('task-delegation', 'cook', 'lance', { correlation_id: given.body.msg_id });
    await jetstream(site.client).publish('parley.default.send', JSON.stringify(child));
    for (const { message } of [given, await nextOf(lances)]) {
      const told = (name: string) => message.headers?.get(name);
      assert.equal(told('traceparent')?.split('-')[1], traceId);
      assert.deepEqual([told('tracestate'), told('baggage')], ['vendor=1', 'tenant=blue']);
    }
    const [first, second] = await eventually(() => {
      const sent = collector.spans.filter(({ name }) => name.startsWith('send '));
      assert.equal(sent.length, 2);
      return sent;
    });
    assert.deepEqual(
      [first?.traceId, first?.parentSpanId, second?.traceId, second?.parentSpanId],
      [traceId, 'b7ad6b7169203331', traceId, first?.spanId],
    );
    assert.equal(first?.traceState, 'vendor=1');
  });

  it('is handed the results of what its task waited for', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', { dialect: 'task-format' });
    const cook = await site.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    await site.agent('lance', { dialect: 'round-table', transport: 'nats' });
    await site.relay();
    const inbox = await inboxOf(site, 'lance');
    const { graph, id } = graphOf({ soup: [], dinner: ['soup'] });
    const nodes = graph.nodes.map((node) => ({ ...node, agent: node.taskId === id('soup') ? 'cook' : 'lance' }));
    assert.equal((await tim.call('POST', '/v1/graphs', { ...graph, nodes })).status, 202);
    assert.equal((await cook.claim({ wait: 10 })).length, 1);
    assert.equal((await cook.send({ id: id('soup'), status: 'completed', result: { dish: 'soup' } })).status, 202);
    const { results } = (await nextOf(inbox)).body.payload;
    assert.deepEqual(results, { [id('soup')]: { taskId: id('soup'), agent: 'cook', result: { dish: 'soup' } } });
  });

  it('reports by the eight digits that it was given, also when it is asked for the second time', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('cook', { dialect: 'message-routing', transport: 'nats' });
    await site.relay();
    const send = (message: object) => jetstream(site.client).publish('parley.default.send', JSON.stringify(message));
    const inbox = await inboxOf(site, 'cook');
    const id = await tim.request({ to: 'cook', payload: { task: 'intel.news' } });
    const first = (await nextOf(inbox)).body;
    await send(mrMessage('status-update', 'cook', 'tim', { correlation_id: first.msg_id }));
    await eventually(async () => assert.equal((await tim.task(id)).progress?.percent, 65));
    await send(
      mrMessage('status-update', 'cook', 'tim', {
        correlation_id: first.msg_id,
        payload: { status: 'failed', message: 'burnt' },
      }),
    );
    await eventually(async () => assert.equal((await tim.task(id)).state, 'failed'));
    await site.admin.call('POST', `/v1/tasks/${id}/retry`);
    const second = (await nextOf(inbox)).body;
    assert.notEqual(second.msg_id, first.msg_id);
    await send(mrMessage('result', 'cook', 'tim', { correlation_id: second.msg_id }));
    assert.equal((await tim.task(id, 10)).state, 'completed');
  });

  it('reads notes in its inbox', async (t) => {
    const site = await relaySite(t);
    const oracle = await site.agent('oracle', { dialect: 'agent-os' });
    await site.agent('scribe', { dialect: 'agent-os', transport: 'nats' });
    await site.relay();
    const party = (agentId: string) => ({ agentId, instanceId: agentId });
    const note = {
      id: randomUUID(),
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: party('oracle'),
      to: party('scribe'),
      type: 'event',
      payload: { content: { says: 'rain' } },
    };
    const sent = await oracle.send(note);
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const { body } = await nextOf(await inboxOf(site, 'scribe'));
    assert.equal(body.id, note.id);
    assert.deepEqual(body.payload.content, { says: 'rain' });
  });

  it('is told in its inbox how a batch of its own ended, once', async (t) => {
    const site = await relaySite(t);
    const cook = await site.agent('cook', { dialect: 'task-format', transport: 'nats' });
    const galahad = await site.agent('galahad', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    await site.relay();
    const inbox = await inboxOf(site, 'cook');
    const tasks = [tfRequest(), tfRequest()];
    const batch = { batchId: randomUUID(), tasks };
    const reply = await cook.call('POST', '/v1/batches', batch);
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    assert.equal((await galahad.claim({ max: 10 })).length, 2);
    for (const { id } of tasks) await galahad.send({ id, status: 'completed', result: { id } });
    const { body } = await nextOf(inbox);
    const told = body.payload;
    assert.equal(told.batchId, batch.batchId, JSON.stringify(body));
    assert.equal(told.status, 'success');
    assert.deepEqual(
      told.results.map(({ result }: { result: unknown }) => result),
      tasks.map(({ id }) => ({ id })),
    );
    assert.deepEqual(await cook.inbox(), []);
    assert.equal(await inbox.next({ expires: 1000 }), null);
  });

  it('is given what only agents on NATS can do; all who can are asked in turn, and one has it', async (t) => {
    const site = await relaySite(t, { config: { ...SITE_CONFIG, tasks: { ...SITE_CONFIG.tasks, requeueMs: 1500 } } });
    const tim = await site.agent('tim', { dialect: 'task-format' });
    const cooks = ['cook', 'baker'];
    for (const id of cooks) {
      await site.agent(id, { dialect: 'task-format', transport: 'nats', capabilities: ['parse_recipe'] });
    }
    await site.relay();
    const request = tfRequest();
    assert.equal((await tim.send(request)).status, 202);
    const inboxes = await Promise.all(cooks.map((id) => inboxOf(site, id)));
    const given = await Promise.all(inboxes.map((inbox) => nextOf(inbox)));
    assert.deepEqual(
      given.map(({ body }) => body.id),
      [request.id, request.id],
    );
    const js = jetstream(site.client);
    const done = (agent: string) => ({ id: request.id, status: 'completed', result: { agent }, metadata: { agent } });
    await js.publish('parley.default.send', JSON.stringify(done('baker')));
    assert.equal((await tim.task(request.id, 10)).state, 'completed');
    await js.publish('parley.default.send', JSON.stringify(done('cook')));
    const [answer, ...more] = await tim.inbox(10);
    assert.deepEqual([answer.result, more], [{ agent: 'baker' }, []]);
  });

  it('is given what agents over HTTP can do as well, and whoever claims it first has it', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', { dialect: 'task-format' });
    await site.agent('baker', { dialect: 'task-format', transport: 'nats', capabilities: ['parse_recipe'] });
    const cook = await site.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const relay = await site.relay();
    const inbox = await inboxOf(site, 'baker');
    const js = jetstream(site.client);
    const say = (id: string, status: object) =>
      js.publish('parley.default.send', JSON.stringify({ id, ...status, metadata: { agent: 'baker' } }));

    const forBaker = tfRequest();
    assert.equal((await tim.send(forBaker)).status, 202);
    assert.equal((await nextOf(inbox)).body.id, forBaker.id);
    await say(forBaker.id, { status: 'completed', result: { by: 'baker' } });
    assert.equal((await tim.task(forBaker.id, 10)).state, 'completed');
    assert.deepEqual(await cook.claim({}), []);

    const forCook = tfRequest();
    assert.equal((await tim.send(forCook)).status, 202);
    assert.equal((await nextOf(inbox)).body.id, forCook.id);
    assert.equal((await cook.claim({ wait: 5 }))[0]?.message.id, forCook.id);
    await say(forCook.id, { status: 'completed', result: { by: 'baker' } });
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'rejected'), 1));
    await cook.send({ id: forCook.id, status: 'completed', result: { by: 'cook' } });
    const ended = await tim.inbox(10);
    assert.deepEqual(
      ended.map(({ result }) => result.by),
      ['baker', 'cook'],
    );
  });

  it('is refused where the project has no relay', async (t) => {
    const site = await relaySite(t);
    const { projects } = site.parley.deps.config;
    Object.assign(projects.default ?? {}, { relay: false });
    t.after(() => Object.assign(projects.default ?? {}, { relay: true }));
    const reply = await site.admin.call('PUT', '/v1/agents/cook', { dialect: 'task-format', transport: 'nats' });
    assert.equal(reply.status, 400);
    assert.match(reply.body.detail, /has no relay/);
  });
});
