import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dispatchChanges } from '../../shared/effects/dispatcher.ts';
import { taskRef } from '../../shared/model/task.ts';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { type TestOptions, type TestParley, testParley } from '../support/test-parley.ts';

const inboxOf = async (parley: TestParley, id: string): Promise<Wire[]> =>
  (await parley.admin.call('GET', `/v1/inbox?agent=${id}&max=100`)).body.messages;

const arrive = async (parley: TestParley, id: string, count: number): Promise<Wire[]> => {
  await eventually(async () => assert.equal((await inboxOf(parley, id)).length, count));
  return inboxOf(parley, id);
};

describe('an inbox that gets all that is sent', () => {
  it('has the claim, each progress report and each failed attempt of a Round Table task, in their order', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { dialect: 'round-table', inbox: 'all' });
    const kay = await parley.agent('kay', { dialect: 'round-table' });
    const task = taskRequest('tim', { to: 'kay' });
    assert.equal((await tim.send(task)).status, 202);
    assert.equal((await kay.claim()).length, 1);
    const progress = about('task.progress', 'kay', task.id, { percent: 40, message: 'on it' });
    assert.equal((await kay.send(progress)).status, 202);
    const failure = { error: 'internal_error', message: 'a glitch', retryable: true };
    assert.equal((await kay.send(about('task.failed', 'kay', task.id, failure))).status, 202);
    const told = await arrive(parley, 'tim', 3);
    assert.deepEqual(
      told.map(({ type, from, correlationId }) => [type, from, correlationId]),
      ['task.claimed', 'task.progress', 'task.failed'].map((type) => [type, 'kay', task.id]),
    );
    assert.equal(told[1]?.payload.message, 'on it');
    assert.deepEqual([told[2]?.payload.error, told[2]?.payload.retryable], ['internal_error', true]);
  });

  it('has the claim and the progress of a Task Format task, which one acknowledgement by its id removes', async (t) => {
    const parley = await testParley(t);
    const coder = await parley.agent('coder', messageRouting);
    const tf = await parley.agent('tf', { dialect: 'task-format', inbox: 'all' });
    const task = { id: 'job-1', type: 'parse', payload: {}, routing: { source: 'tf', target: 'coder' } };
    assert.equal((await tf.send(task)).status, 202);
    const [claimed] = await coder.claim();
    const timestamp = new Date(parley.clock.now() + 1).toISOString();
    const update = mrMessage('status-update', 'coder', 'tf', { correlation_id: claimed?.message.msg_id, timestamp });
    assert.equal((await coder.send(update)).status, 202);
    const told = await arrive(parley, 'tf', 2);
    assert.deepEqual(
      told.map(({ id, status, metadata }) => [id, status, metadata.progress]),
      [
        ['job-1', 'pending', undefined],
        ['job-1', 'in_progress', 65],
      ],
    );
    assert.equal((await tf.call('POST', '/v1/inbox/ack', { ids: ['job-1'] })).body.acknowledged, 2);
    assert.deepEqual(await inboxOf(parley, 'tf'), []);
  });

  it('stays empty of reports where its agent reads ends only', async (t) => {
    const parley = await testParley(t);
    const lead = await parley.agent('lead', { ...messageRouting, inbox: 'ends' });
    const kay = await parley.agent('kay', { dialect: 'round-table' });
    const task = mrMessage('task-delegation', 'lead', 'kay');
    assert.equal((await lead.send(task)).status, 202);
    const [claimed] = await kay.claim();
    const id = claimed?.message.id;
    for (const [type, payload] of [
      ['task.progress', { percent: 40 }],
      ['task.result', { status: 'completed', result: {} }],
    ] as const) {
      const { status, body } = await kay.send(about(type, 'kay', id, payload));
      assert.equal(status, 202, JSON.stringify(body));
    }
    assert.deepEqual(
      (await arrive(parley, 'lead', 1)).map(({ type }) => type),
      ['result'],
    );
  });
});

/** As the document has it: a team that does nothing but send messages and read inboxes. */
const startTeam = async (t: Parameters<typeof testParley>[0], options: TestOptions = {}) => {
  const parley = await testParley(t, options);
  const lead = await parley.agent('lead', { ...messageRouting, role: 'coordinator' });
  const coder = await parley.agent('coder', messageRouting);
  const read = async (agent: typeof lead, more = ''): Promise<Wire[]> => {
    const { status, body } = await agent.call('GET', `/v1/inbox?max=100${more}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.messages;
  };
  const counts: Record<string, number> = {};
  let ticks = 0;
  /** Each counts what it sends, and writes the time. */
  const say = async (agent: typeof lead, from: string, to: string, type: string, more: object = {}): Promise<Wire> => {
    const sequence = (counts[from] ?? 0) + 1;
    counts[from] = sequence;
    const timestamp = new Date(parley.clock.now() + ++ticks).toISOString();
    const message = mrMessage(type, from, to, { sequence, timestamp, ...more });
    const { status, body } = await agent.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    return message;
  };
  const delegate = (more: object = {}) => say(lead, 'lead', 'coder', 'task-delegation', more);
  return { parley, lead, coder, read, say, delegate };
};

describe('a Message Routing team that only sends and reads', () => {
  it('does its work, and its coordinator reads every message in order, without a gap in the sequences', async (t) => {
    const { parley, lead, coder, read, say, delegate } = await startTeam(t);
    const task = await delegate();
    const [given] = await read(coder);
    assert.deepEqual(given, task);
    const correlation_id = task.msg_id;
    await say(coder, 'coder', 'lead', 'heartbeat');
    await say(coder, 'coder', 'lead', 'status-update', { correlation_id });
    await say(coder, 'coder', 'lead', 'heartbeat');
    await say(coder, 'coder', 'lead', 'status-update');
    await say(coder, 'coder', 'lead', 'result', { correlation_id });
    assert.equal((await parley.admin.call('GET', `/v1/tasks/${task.msg_id}`)).body.state, 'completed');
    await eventually(async () => assert.equal((await read(lead)).length, 6));
    const told = (await read(lead)).filter(({ from }) => from === 'coder');
    assert.deepEqual(
      told.map(({ type, sequence }) => [type, sequence]),
      [
        ['heartbeat', 1],
        ['status-update', 2],
        ['heartbeat', 3],
        ['status-update', 4],
        ['result', 5],
      ],
    );
    const ids = (await read(lead)).map(({ msg_id }) => msg_id);
    assert.equal((await lead.call('POST', '/v1/inbox/ack', { ids })).body.acknowledged, 6);
    assert.deepEqual([await read(lead), await read(coder)], [[], []]);
  });

  it('is given a task by one reader, which keeps it until its deadline and reads it until it acknowledges it', async (t) => {
    const { parley, coder, read, delegate } = await startTeam(t);
    const deadline = new Date(parley.clock.now() + 2 * 3_600_000).toISOString();
    const task = await delegate({ payload: { task: 'Audit the login', context: { deadline } } });
    assert.deepEqual(
      (await Promise.all([1, 2, 3].map(() => read(coder)))).flat().filter(({ msg_id }) => msg_id !== task.msg_id),
      [],
    );
    const { body } = await parley.admin.call('GET', `/v1/tasks/${task.msg_id}`);
    assert.deepEqual([body.state, body.attempt, body.metadata.agent], ['claimed', 1, 'coder']);
    assert.equal(body.lease.until, deadline);
    assert.deepEqual(await coder.claim(), []);
    assert.equal((await coder.call('POST', '/v1/inbox/ack', { ids: [task.msg_id] })).body.acknowledged, 1);
    assert.deepEqual(await read(coder), []);
  });

  it('reads no task that another call of the agent has claimed, and none that was cancelled', async (t) => {
    const { coder, lead, read, delegate } = await startTeam(t);
    await delegate();
    const cancelled = await delegate();
    assert.equal((await coder.claim()).length, 1);
    assert.equal((await lead.call('POST', `/v1/tasks/${cancelled.msg_id}/cancel`)).status, 200);
    assert.deepEqual(await read(coder), []);
  });

  it('reads a task no more once it was cancelled, though it was not acknowledged', async (t) => {
    const { coder, lead, read, delegate } = await startTeam(t);
    const task = await delegate();
    assert.equal((await read(coder)).length, 1);
    assert.equal((await lead.call('POST', `/v1/tasks/${task.msg_id}/cancel`)).status, 200);
    await eventually(async () =>
      assert.deepEqual(
        (await read(coder)).map(({ type, payload }) => [type, payload.parley?.status]),
        [['result', 'cancelled']],
      ),
    );
  });

  it('is woken by a task while it waits for its inbox', async (t) => {
    const { coder, read, delegate } = await startTeam(t);
    const waiting = read(coder, '&wait=20');
    const task = await delegate();
    assert.deepEqual(
      (await waiting).map(({ msg_id }) => msg_id),
      [task.msg_id],
    );
  });

  it('is woken by a message while it waits for its inbox, and claims no task for that', async (t) => {
    const { lead, coder, read, say, delegate } = await startTeam(t);
    const waiting = read(coder, '&wait=20');
    await say(lead, 'lead', 'coder', 'status-update');
    assert.equal((await waiting).length, 1);
    await delegate();
    assert.equal((await coder.claim()).length, 1);
  });

  it('has tasks in its inbox beyond its limit, and evicts none of them', async (t) => {
    const { parley, lead, coder, read, say, delegate } = await startTeam(t);
    await parley.admin.call('PUT', '/v1/agents/coder', { ...messageRouting, inboxLimit: 2 });
    for (let at = 0; at < 5; at++) await delegate();
    for (let at = 0; at < 4; at++) await say(lead, 'lead', 'coder', 'status-update');
    const types = (await read(coder)).map(({ type }) => type);
    assert.deepEqual([types.filter((type) => type === 'task-delegation').length, types.length], [5, 7]);
  });

  it('counts reports in the limit of an inbox, and tells of each that is evicted', async (t) => {
    const { parley, lead, coder, read, say, delegate } = await startTeam(t);
    await parley.admin.call('PUT', '/v1/agents/lead', { ...messageRouting, inboxLimit: 2 });
    const { msg_id: correlation_id } = await delegate();
    await read(coder);
    for (let at = 0; at < 4; at++) await say(coder, 'coder', 'lead', 'status-update', { correlation_id });
    await say(coder, 'coder', 'lead', 'heartbeat');
    await eventually(async () => {
      const { events } = (await parley.admin.call('GET', '/v1/events?limit=500')).body;
      assert.equal(events.filter(({ type }: { type: string }) => type === 'message.evicted').length, 4);
    });
    assert.equal((await read(lead)).length, 2);
  });

  it('loses no sign of life to a full inbox that takes no more', async (t) => {
    const { parley, lead, coder, read, say } = await startTeam(t);
    await parley.admin.call('PUT', '/v1/agents/lead', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    await say(coder, 'coder', 'lead', 'status-update');
    await say(coder, 'coder', 'lead', 'heartbeat');
    assert.equal((await parley.admin.call('GET', '/v1/agents/coder')).body.health.status, 'healthy');
    assert.equal((await read(lead)).length, 1);
  });

  it('claims nothing when an administrator looks into an inbox', async (t) => {
    const { parley, coder, delegate } = await startTeam(t);
    await delegate();
    assert.deepEqual(await inboxOf(parley, 'coder'), []);
    assert.equal((await coder.claim()).length, 1);
  });

  it('reads a task in the end whose reader was killed before it had claimed it', async (t) => {
    let isKilled = false;
    const { coder, read, delegate, parley } = await startTeam(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: async (ref, change, ...more) => {
            if (isKilled && change.set?.status === 'claimed') throw new Error('killed');
            return ports.records.update(ref, change, ...more);
          },
        },
      }),
    });
    const task = await delegate();
    isKilled = true;
    assert.equal((await coder.call('GET', '/v1/inbox')).status, 500);
    isKilled = false;
    await parley.restart();
    assert.deepEqual(
      (await read(coder)).map(({ msg_id }) => msg_id),
      [task.msg_id],
    );
    assert.equal((await parley.admin.call('GET', `/v1/tasks/${task.msg_id}`)).body.attempt, 1);
  });

  it('reads each report once, though the step that it tells of is worked off twice', async (t) => {
    const { parley, lead, coder, read, say, delegate } = await startTeam(t);
    const { msg_id: correlation_id } = await delegate();
    await read(coder);
    await say(coder, 'coder', 'lead', 'status-update', { correlation_id });
    await eventually(async () => assert.equal((await read(lead)).length, 2));
    const { deps } = parley.parley;
    const id = (await parley.admin.call('GET', `/v1/tasks/${correlation_id}`)).body.id;
    const after = (await deps.records.get(taskRef(Object.keys(deps.config.projects)[0] ?? '', id))) ?? assert.fail();
    const before = { ...after, status: 'claimed' as const, processedMessages: undefined };
    await dispatchChanges(deps, [{ before, after }]);
    assert.equal((await read(lead)).length, 2);
    const ids = (await read(lead)).map(({ msg_id }) => msg_id);
    await lead.call('POST', '/v1/inbox/ack', { ids });
    await dispatchChanges(deps, [{ before, after }]);
    assert.deepEqual(await read(lead), []);
  });
});
