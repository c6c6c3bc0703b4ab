import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { messageRouting, mrMessage, type Wire } from '../../test/support/message-routing.ts';
import type { Owner } from '../../test/support/server-process.ts';
import { testParley } from '../../test/support/test-parley.ts';
import { assertEach, busMessage, Killer, TestBus, testBridge } from './file-bridge-site.ts';

const cfn = { ...messageRouting, profile: 'cfn' };

const start = async (t: Owner) => {
  const parley = await testParley(t);
  const lead = await parley.agent('lead', { ...cfn, role: 'coordinator' });
  const worker = await parley.agent('worker-1', cfn);
  const plain = await parley.agent('plain', messageRouting);
  return { parley, lead, worker, plain, bus: new TestBus(t) };
};

const readAll = async (agent: { call: Awaited<ReturnType<typeof start>>['lead']['call'] }): Promise<Wire[]> =>
  (await agent.call('GET', '/v1/inbox?mode=take&max=100')).body.messages;

describe('parley bridge files', () => {
  it('sends what agents of the bus write to agents that are not on it', async (t) => {
    const { parley, plain, bus } = await start(t);
    const ready = busMessage('agent:ready', 'lead', 'plain', { worker_id: 1 });
    const task = busMessage('task-delegation', 'lead', 'plain', { task: 'Audit the login' });
    for (const message of [ready, task]) bus.write('plain', message);
    const { bridge, notices } = testBridge(parley, bus);
    await bridge.runOnce();
    assert.deepEqual(bus.names('plain', 'inbox'), []);
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ['sent', 'sent'],
    );
    const read = await readAll(plain);
    assert.deepEqual(
      read.map(({ type, payload }) => ({ type, payload })),
      [
        { type: 'status-update', payload: read[0]?.payload },
        { type: 'task-delegation', payload: task.payload },
      ],
    );
    assert.match(JSON.stringify(read[0]?.payload), /cfn\.agent:ready.*worker_id/);
  });

  it('writes what waits for an agent of the bus to its inbox, in the form of the bus', async (t) => {
    const { parley, plain, bus } = await start(t);
    const note = mrMessage('status-update', 'plain', 'lead', {});
    const task = mrMessage('task-delegation', 'plain', 'lead', {});
    for (const message of [note, task]) assert.equal((await plain.send(message)).status, 202);
    await testBridge(parley, bus).bridge.runOnce();
    assert.deepEqual(bus.names('lead', 'inbox').toSorted(), [`${note.msg_id}.json`, `${task.msg_id}.json`].toSorted());
    const text = readFileSync(join(bus.inbox('lead'), `${note.msg_id}.json`), 'utf8');
    // As its scripts look for them: digits on the first line that names the field.
    assert.match(text, /^ {2}"timestamp": \d+,$/m);
    assert.ok(
      text.indexOf('"timestamp"') < text.indexOf('"payload"') && text.indexOf('"sequence"') < text.indexOf('"payload"'),
    );
    assert.deepEqual(
      bus.take('lead').map(({ type, from }) => [type, from]),
      [
        ['status-update', 'plain'],
        ['task-delegation', 'plain'],
      ],
    );
    assert.equal((await plain.task(String(task.msg_id))).status, 'in_progress');
  });

  it('brings a task to the bus, and its result back', async (t) => {
    const { parley, plain, bus } = await start(t);
    const task = mrMessage('task-delegation', 'plain', 'worker-1', {});
    assert.equal((await plain.send(task)).status, 202);
    await testBridge(parley, bus).bridge.runOnce();
    const [received] = bus.take('worker-1');
    const result = busMessage(
      'result',
      'worker-1',
      'plain',
      { status: 'success' },
      { correlation_id: received?.msg_id },
    );
    bus.write('plain', result);
    await testBridge(parley, bus).bridge.runOnce();
    const ended = (await readAll(plain)).find(({ type }) => type === 'result');
    assert.deepEqual([ended?.correlation_id, ended?.payload], [task.msg_id, { status: 'success' }]);
  });

  it('leaves messages between agents of the bus alone', async (t) => {
    const { parley, bus } = await start(t);
    bus.write('worker-1', busMessage('request', 'lead', 'worker-1', {}));
    const { bridge, notices } = testBridge(parley, bus);
    await bridge.runOnce();
    assert.equal(bus.names('worker-1', 'inbox').length, 1);
    assert.deepEqual(notices, []);
  });

  it('keeps what Parley rejects, with the reason, and sends the rest', async (t) => {
    const { parley, plain, bus } = await start(t);
    const invalid = busMessage('request', 'lead', 'plain', {}, { priority: 99 });
    const foreign = busMessage('request', 'nobody', 'plain', {});
    const valid = busMessage('request', 'lead', 'plain', {});
    for (const message of [invalid, foreign, valid]) bus.write('plain', message);
    writeFileSync(join(bus.inbox('plain'), 'text.json'), 'no JSON');
    utimesSync(join(bus.inbox('plain'), 'text.json'), 1, 1);
    symlinkSync('/etc/hostname', join(bus.inbox('plain'), 'link.json'));
    const { bridge, notices } = testBridge(parley, bus);
    await bridge.runOnce();
    const rejected = notices.flatMap((one) => (one.kind === 'rejected' ? one.detail : []));
    assert.equal(rejected.length, 3, JSON.stringify(notices));
    assert.match(rejected[0] ?? '', /not a JSON object/);
    assert.match(rejected[1] ?? '', /priority: .* \(invalid_message\)|\(invalid_message\); priority/);
    assert.match(rejected[2] ?? '', /nobody is not an agent of this bridge/);
    const kept = bus.names('.parley-bridge', 'rejected');
    assert.deepEqual(
      kept.toSorted(),
      [`plain~lead~${invalid.msg_id}.json`, `plain~nobody~${foreign.msg_id}.json`, 'plain~~text.json'].toSorted(),
    );
    const problem = join(bus.root, '.parley-bridge', 'rejected', `plain~lead~${invalid.msg_id}.problem`);
    assert.equal(JSON.parse(readFileSync(problem, 'utf8')).code, 'invalid_message');
    assert.deepEqual((await readAll(plain)).length, 1);
  });

  it('takes a message only when the bus has copied it to the outbox of its sender', async (t) => {
    const { parley, bus } = await start(t);
    mkdirSync(join(bus.root, 'Lead', 'outbox'), { recursive: true });
    const message = busMessage('request', 'Lead', 'plain', {});
    bus.write('plain', message);
    await testBridge(parley, bus).bridge.runOnce();
    assert.equal(bus.names('plain', 'inbox').length, 1);
    writeFileSync(join(bus.root, 'Lead', 'outbox', `${message.msg_id}.json`), '{}');
    await testBridge(parley, bus).bridge.runOnce();
    assert.equal(bus.names('plain', 'inbox').length, 0);
  });

  it('uses the folder that the bus made, also where its name has capitals', async (t) => {
    const { parley, plain, bus } = await start(t);
    mkdirSync(bus.inbox('Lead'), { recursive: true });
    await plain.send(mrMessage('status-update', 'plain', 'lead', {}));
    await testBridge(parley, bus).bridge.runOnce();
    assert.equal(bus.names('Lead', 'inbox').length, 1);
    assert.equal(bus.names('lead', 'inbox').length, 0);
  });

  it('writes two messages with one id to two files', async (t) => {
    const { parley, plain, worker, bus } = await start(t);
    const id = 'msg_0a1b2c3d';
    await plain.send(mrMessage('status-update', 'plain', 'lead', { msg_id: id }));
    await worker.send(busMessage('request', 'worker-1', 'lead', {}, { msg_id: id }));
    await testBridge(parley, bus, { agents: ['lead'] }).bridge.runOnce();
    assert.deepEqual(bus.names('lead', 'inbox').toSorted(), [`${id}.2.json`, `${id}.json`]);
    assert.deepEqual(
      bus
        .take('lead')
        .map(({ from }) => from)
        .toSorted(),
      ['plain', 'worker-1'],
    );
    await testBridge(parley, bus, { agents: ['lead'] }).bridge.runOnce();
    assert.deepEqual(bus.take('lead'), []);
  });

  it('writes no more than 50 files to an inbox, and the rest when there is room', async (t) => {
    const { parley, plain, bus } = await start(t);
    for (let count = 0; count < 60; count++) await plain.send(mrMessage('status-update', 'plain', 'lead', {}));
    await testBridge(parley, bus).bridge.runOnce();
    assert.equal(bus.take('lead').length, 50);
    await testBridge(parley, bus).bridge.runOnce();
    assert.equal(bus.take('lead').length, 10);
  });

  it('sends later what Parley does not take now, and messages of others meanwhile', async (t) => {
    const { parley, plain, bus } = await start(t);
    await parley.agent('small', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    for (const to of ['small', 'small', 'plain']) bus.write(to, busMessage('request', 'lead', to, {}));
    const { bridge, notices } = testBridge(parley, bus);
    await bridge.runOnce();
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ['sent', 'delayed', 'sent'],
    );
    assert.equal((await readAll(plain)).length, 1);
    assert.equal((await parley.admin.call('GET', '/v1/inbox?agent=small&mode=take')).body.messages.length, 1);
    await testBridge(parley, bus).bridge.runOnce();
    assert.equal((await parley.admin.call('GET', '/v1/inbox?agent=small&mode=take')).body.messages.length, 1);
  });

  it('serves one agent with the key of that agent', async (t) => {
    const { parley, lead, plain, bus } = await start(t);
    await plain.send(mrMessage('status-update', 'plain', 'lead', {}));
    bus.write('plain', busMessage('request', 'lead', 'plain', {}));
    await testBridge(parley, bus, { agents: ['lead'], key: lead.key }).bridge.runOnce();
    assert.equal(bus.take('lead').length, 1);
    assert.equal((await readAll(plain)).length, 1);
  });

  it('says which agents it needs', async (t) => {
    const parley = await testParley(t);
    await parley.agent('knight');
    const bus = new TestBus(t);
    await assert.rejects(testBridge(parley, bus).bridge.runOnce(), /"profile": "cfn"/);
    await assert.rejects(testBridge(parley, bus, { agents: ['lead'] }).bridge.runOnce(), /No agent lead is registered/);
    await assert.rejects(testBridge(parley, bus, { agents: ['knight'] }).bridge.runOnce(), /speaks round-table/);
  });
});

describe('a bridge that is killed at any step', () => {
  for (const how of ['before', 'half', 'after'] as const) {
    it(`loses and doubles nothing, if it ends ${how === 'half' ? 'half-way through' : how} the step`, async (t) => {
      const { parley, plain, bus } = await start(t);
      let at = 1;
      for (; ; at++) {
        const sent = ['request', 'task-delegation', 'heartbeat'].map((type) =>
          busMessage(type, 'lead', 'plain', type === 'task-delegation' ? { task: `${at}` } : { health: 'healthy', at }),
        );
        const invalid = busMessage('request', 'lead', 'plain', {}, { priority: 99 });
        for (const message of [...sent, invalid]) bus.write('plain', message);
        const [first, ...others] = [1, 2, 3].map(() => mrMessage('status-update', 'plain', 'lead', {}));
        const toBus = [first ?? {}, mrMessage('task-delegation', 'plain', 'lead', {}), ...others];
        for (const message of toBus) assert.equal((await plain.send(message)).status, 202);

        const killer = new Killer(at, how);
        const run = testBridge(parley, bus, { killer }).bridge.runOnce();
        const wasKilled = await run.then(
          () => false,
          () => true,
        );
        assert.equal(wasKilled, killer.isDead);
        // The agent reads between the end and the new start: what it has deleted must not come again.
        const early = bus.take('lead');
        await testBridge(parley, bus).bridge.runOnce();
        const received = [...early, ...bus.take('lead')].filter(({ from }) => from === 'plain');
        const arrived = (await readAll(plain)).filter(({ from }) => from === 'lead');

        const where = `step ${at}`;
        assertEach(received, toBus, `${where}, to the bus`);
        const numbers = arrived.map(({ sequence }) => sequence);
        assert.deepEqual(
          numbers,
          sent.map(({ sequence }) => sequence),
          `${where}, to Parley`,
        );
        assert.equal(bus.names('.parley-bridge', 'rejected').length, at, `${where}, rejected`);
        assert.deepEqual(bus.names('.parley-bridge', 'outgoing'), [], where);
        assert.deepEqual(bus.names('plain', 'inbox'), [], where);
        if (!wasKilled) break;
      }
      t.diagnostic(`${at} steps`);
      assert.ok(at > 30, `only ${at} steps`);
    });
  }
});
