import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { consumerOf, inboxOf, nextOf, relaySite } from '../support/relay-site.ts';
import { tfRequest } from '../support/task-format.ts';

const COMMAND = 'cg.v1r3.default.public.cmd.tool.word_count.call';
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

const headersOf = (said: [string, string][]): MsgHdrs => {
  const carried = headers();
  for (const [name, value] of said) carried.append(name, value);
  return carried;
};

const namesIn = (given: MsgHdrs | undefined): string[] =>
  [...(given?.keys() ?? [])].filter((name) => !name.startsWith('Nats-') && name !== 'Parley-Relay').toSorted();

/** A command from NATS, as a service over HTTP claims it. */
const commanded = async (t: TestContext, said: [string, string][]) => {
  const site = await relaySite(t);
  const merlin = await groundAgent(site, 'merlin', { transport: 'nats' });
  const helper = await groundAgent(site, 'helper', { capabilities: ['word_count'] });
  await enqueued(site.admin, 'merlin');
  const worker = new Worker(merlin);
  const { agent_turn_id, turn_epoch, ...held } = await worker.begin();
  await worker.suspend({ agent_turn_id, turn_epoch, ...held }, ['c1']);
  await site.relay();
  const payload = { tool_call_id: 'c1', agent_id: 'merlin', agent_turn_id, turn_epoch };
  await jetstream(site.client).publish(COMMAND, JSON.stringify(payload), { headers: headersOf(said) });
  const [claimed] = await helper.claim({ wait: 10 });
  return { claimed };
};

describe('the headers of a message on NATS', () => {
  it('come to its reader over HTTP under the names that its sender gave them, and what was left out is added', async (t) => {
    const said: [string, string][] = [
      ['CG-Sender', 'merlin'],
      ['CG-User-ID', 'u1'],
      ['X-Own', 'kept'],
      ['traceparent', TRACE],
    ];
    const { claimed } = await commanded(t, said);
    const names = Object.keys(claimed.message.headers).toSorted();
    assert.deepEqual(names, [
      'CG-Msg-Type',
      'CG-Recursion-Depth',
      'CG-Sender',
      'CG-Timestamp',
      'CG-User-ID',
      'CG-Version',
      'X-Own',
      'traceparent',
    ]);
  });

  it('are each told once, however they were spelled', async (t) => {
    const said: [string, string][] = [
      ['cg-sender', 'merlin'],
      ['cg-recursion-depth', '0'],
      ['Traceparent', TRACE],
    ];
    const { claimed } = await commanded(t, said);
    const names = Object.keys(claimed.message.headers);
    const spelled = new Set(names.map((name) => name.toLowerCase()));
    assert.equal(spelled.size, names.length, names.join());
    assert.ok(names.includes('cg-sender') && names.includes('cg-recursion-depth') && names.includes('traceparent'));
    assert.match(claimed.message.headers.traceparent, /^00-4bf92f3577b34da6a3ce929d0e0e4736-/);
  });
});

describe('a command that Parley publishes on NATS', () => {
  it('has its headers under the names that its sender over HTTP gave them', async (t) => {
    const site = await relaySite(t);
    const merlin = await groundAgent(site, 'merlin');
    await groundAgent(site, 'word_count', { transport: 'nats' });
    await site.relay();
    await enqueued(site.admin, 'merlin');
    const worker = new Worker(merlin);
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const { agent_turn_id, turn_epoch } = held;
    const payload = { tool_call_id: 'c1', agent_id: 'merlin', agent_turn_id, turn_epoch };
    const said = { 'CG-Sender': 'merlin', 'CG-Context-ID': 'ctx', 'X-Own': 'kept', Traceparent: TRACE };
    const sent = await merlin.send({ subject: COMMAND, headers: said, payload });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const commands = await consumerOf(site.client, 'cg_cmd_v1r3', { durable_name: 'wc', filter_subject: COMMAND });
    const { message } = await nextOf(commands);
    assert.deepEqual(namesIn(message.headers), [
      'CG-Context-ID',
      'CG-Msg-Type',
      'CG-Recursion-Depth',
      'CG-Sender',
      'CG-Timestamp',
      'CG-Version',
      'X-Own',
      'traceparent',
    ]);
  });
});

describe('a task that Parley publishes on NATS', () => {
  it('has its conversation, its user and its graph in headers, where its dialect has no place for them', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', { dialect: 'task-format', capabilities: [] });
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    await site.relay();
    const filter_subject = 'roundtable.tasks.security.>';
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', { durable_name: 'knights', filter_subject });
    const belongingsOf = async () => {
      const { message } = await nextOf(tasks);
      return ['Conversation', 'User', 'Graph'].map((name) => message.headers?.get(`Parley-${name}`));
    };
    const context = { conversationId: ' Köln,\r\n100 % ', user: 'ada b' };
    assert.equal((await tim.send(tfRequest({ type: 'security.briefing', context }))).status, 202);
    const [conversation = '', user, graph] = await belongingsOf();
    assert.deepEqual([conversation, user, graph], ['%20K%C3%B6ln,%0D%0A100 %25%20', 'ada b', '']);
    assert.equal(decodeURIComponent(conversation), context.conversationId);

    const graphId = randomUUID();
    const node = { taskId: randomUUID(), capability: 'security.briefing', dependencies: [], payload: {} };
    const made = await tim.call('POST', '/v1/graphs', { graphId, conversationId: 'c7', nodes: [node] });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    assert.deepEqual(await belongingsOf(), ['c7', '', graphId]);
  });
});

describe('a header that is given twice, in two spellings', () => {
  const turnFor = (worker: string) => ({
    subject: `cg.v1r3.default.public.cmd.agent.${worker}.turn`,
    payload: { correlation_id: randomUUID(), mode: 'call' },
  });

  it('is refused where the two disagree: nobody could tell which one was signed or meant', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'worker', { transport: 'nats' });
    await groundAgent(site, 'pmo', { transport: 'nats' });
    await site.relay();
    const dead = await consumerOf(site.client, 'PARLEY_DEAD_LETTERS', { durable_name: 'looks-after' });
    const { subject, payload } = turnFor('worker');
    const said = headersOf([
      ['CG-Sender', 'pmo'],
      ['cg-sender', 'worker'],
    ]);
    await jetstream(site.client).publish(subject, JSON.stringify(payload), { headers: said });
    const { message } = await nextOf(dead);
    const problem = JSON.parse(message.headers?.get('Parley-Problem') ?? '{}');
    assert.equal(problem.code, 'protocol_violation');
    assert.match(problem.detail, /CG-Sender.*cg-sender/);
  });

  it('is taken where the two agree, as is one that the protocol does not know', async (t) => {
    const site = await relaySite(t);
    const pmo = await groundAgent(site, 'pmo');
    await groundAgent(site, 'worker');
    const { subject, payload } = turnFor('worker');
    const said = { 'CG-Sender': 'pmo', 'cg-sender': 'pmo', 'X-Own': 'a', 'x-own': 'b' };
    assert.equal((await pmo.send({ subject, headers: said, payload })).status, 202);
    const other = await pmo.send({ ...turnFor('worker'), headers: { ...said, 'cg-sender': 'worker' } });
    assert.deepEqual([other.status, other.body.code], [422, 'protocol_violation']);
  });
});

describe('Parley’s own headers', () => {
  it('are read in any case', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { dialect: 'task-format', transport: 'nats' });
    await site.agent('merlin', { dialect: 'task-format', transport: 'nats', capabilities: ['parse_recipe'] });
    await site.relay();
    const inbox = await inboxOf(site, 'merlin');
    const request = tfRequest({ routing: { source: 'tim', target: 'merlin' } });
    const said = headersOf([
      ['PARLEY-DIALECT', 'task-format'],
      ['TraceParent', TRACE],
    ]);
    await jetstream(site.client).publish('parley.default.send', JSON.stringify(request), { headers: said });
    const { body, message } = await nextOf(inbox);
    assert.equal(body.id, request.id);
    assert.match(message.headers?.get('traceparent') ?? '', /^00-4bf92f3577b34da6a3ce929d0e0e4736-/);
  });
});
