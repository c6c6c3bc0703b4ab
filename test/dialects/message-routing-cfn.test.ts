import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const cfn = { ...messageRouting, profile: 'cfn' };

let sequence = 0;
/** As the bus writes it. */
const busMessage = (type: string, from: string, to: string, payload: unknown, more: object = {}): Wire => ({
  version: '1.1',
  msg_id: `msg-1770562800-${String(++sequence).padStart(3, '0')}`,
  from,
  to,
  timestamp: 1_770_562_800,
  sequence,
  type,
  payload,
  requires_ack: false,
  ...more,
});

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const lead = await parley.agent('lead', { ...cfn, role: 'coordinator' });
  const worker = await parley.agent('worker-1', cfn);
  const plain = await parley.agent('plain', messageRouting);
  return { parley, lead, worker, plain };
};

const read = async (agent: Awaited<ReturnType<typeof start>>['lead']): Promise<Wire[]> =>
  (await agent.call('GET', '/v1/inbox?mode=take')).body.messages;

describe('the cfn profile of Message Routing', () => {
  it('delivers a message of a type of its own as it was written', async (t) => {
    const { lead, worker } = await start(t);
    const message = busMessage('agent:ready', 'worker-1', 'lead', { worker_id: 1, msg_num: 2 });
    const { status, body } = await worker.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    assert.equal(body.id, message.msg_id);
    assert.deepEqual(await read(lead), [message]);
  });

  it('delivers a message of a documented type whose payload is not as documented', async (t) => {
    const { lead, worker } = await start(t);
    const message = busMessage('status-update', 'worker-1', 'lead', { worker_id: 1, msg_num: 2 });
    assert.equal((await worker.send(message)).status, 202);
    assert.deepEqual((await read(lead))[0]?.payload, message.payload);
  });

  it('answers a task by the id that its requester wrote', async (t) => {
    const { lead, worker } = await start(t);
    const task = busMessage('task-delegation', 'lead', 'worker-1', { task: 'Audit the login' });
    assert.equal((await lead.send(task)).status, 202);
    const [claimed] = await worker.claim();
    assert.deepEqual(
      { msg_id: claimed?.message.msg_id, timestamp: claimed?.message.timestamp, version: claimed?.message.version },
      { msg_id: task.msg_id, timestamp: task.timestamp, version: '1.1' },
    );
    const result = busMessage('result', 'worker-1', 'lead', { status: 'success' }, { correlation_id: task.msg_id });
    assert.equal((await worker.send(result)).status, 202);
    const [end] = await read(lead);
    assert.deepEqual(
      { msg_id: end?.msg_id, correlation_id: end?.correlation_id, payload: end?.payload },
      { msg_id: result.msg_id, correlation_id: task.msg_id, payload: { status: 'success' } },
    );
  });

  it('tells a requester the answer of an agent without the profile by the id that it wrote', async (t) => {
    const { lead, plain } = await start(t);
    const task = busMessage('task-delegation', 'lead', 'plain', { task: 'Audit the login' });
    assert.equal((await lead.send(task)).status, 202);
    const [claimed] = await plain.claim();
    assert.match(String(claimed?.message.msg_id), /^msg_[0-9a-f]{8}$/);
    assert.match(String(claimed?.message.timestamp), /^2026-02-08T15:00:00/);
    assert.equal(claimed?.message.version, '1.1.0');
    const result = mrMessage('result', 'plain', 'lead', { correlation_id: claimed?.message.msg_id });
    assert.equal((await plain.send(result)).status, 202);
    const [end] = await read(lead);
    assert.equal(end?.correlation_id, task.msg_id);
    assert.equal(end?.timestamp, 1_770_562_800);
  });

  it('keeps messages apart that share an id and a second', async (t) => {
    const { lead, worker } = await start(t);
    const first = busMessage('request', 'worker-1', 'lead', { n: 1 });
    const second = busMessage('request', 'worker-1', 'lead', { n: 2 }, { msg_id: first.msg_id });
    for (const message of [first, second]) assert.equal((await worker.send(message)).status, 202);
    const again = await worker.send(first);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.deepEqual(
      (await read(lead)).map(({ payload }) => payload),
      [{ n: 1 }, { n: 2 }],
    );
  });

  it('acknowledges messages by the ids that their senders wrote', async (t) => {
    const { lead, worker } = await start(t);
    const first = busMessage('request', 'worker-1', 'lead', { n: 1 });
    const second = busMessage('request', 'worker-1', 'lead', { n: 2 });
    for (const message of [first, second]) assert.equal((await worker.send(message)).status, 202);
    assert.equal((await lead.call('GET', '/v1/inbox')).body.messages.length, 2);
    const reply = await lead.call('POST', '/v1/inbox/ack', { ids: [first.msg_id, 'msg-1-unknown'] });
    assert.deepEqual([reply.status, reply.body.acknowledged], [200, 1]);
    assert.deepEqual(await read(lead), [second]);
  });

  it('acknowledges two messages under one id only where both are named', async (t) => {
    const { lead, worker } = await start(t);
    const first = busMessage('request', 'worker-1', 'lead', { n: 1 });
    const second = busMessage('request', 'worker-1', 'lead', { n: 2 }, { msg_id: first.msg_id });
    for (const message of [first, second]) assert.equal((await worker.send(message)).status, 202);
    assert.equal((await lead.call('GET', '/v1/inbox')).body.messages.length, 2);
    const ambiguous = await lead.call('POST', '/v1/inbox/ack', { ids: [first.msg_id] });
    assertRefused(ambiguous, 409, 'ambiguous_id');
    const [one, other] = ambiguous.body.messages;
    assert.equal((await lead.call('POST', '/v1/inbox/ack', { ids: [one.id] })).body.acknowledged, 1);
    assert.equal((await lead.call('POST', '/v1/inbox/ack', { ids: [first.msg_id] })).body.acknowledged, 1);
    assert.notEqual(one.id, other.id);
    assert.deepEqual(await read(lead), []);
  });

  it('shows a task by the id that its requester wrote, to both agents', async (t) => {
    const { lead, worker, plain } = await start(t);
    const task = busMessage('task-delegation', 'lead', 'worker-1', { task: 'Audit the login' });
    const { body } = await lead.send(task);
    for (const agent of [lead, worker]) assert.equal((await agent.task(String(task.msg_id))).id, body.taskId);
    assertRefused(await plain.call('GET', `/v1/tasks/${task.msg_id}`), 404, 'task_not_found');
    assertRefused(await lead.call('GET', '/v1/tasks/msg-1-unknown'), 404, 'task_not_found');
  });

  it('rejects the same messages of an agent without the profile', async (t) => {
    const { plain, lead } = await start(t);
    for (const message of [
      busMessage('agent:ready', 'plain', 'lead', {}),
      busMessage('task-delegation', 'plain', 'worker-1', { task: 'Audit the login' }),
    ]) {
      assertRefused(await plain.send(message), 400, 'invalid_message');
    }
    assert.deepEqual(await read(lead), []);
  });

  it('reads what an administrator sends for an agent in the profile of that agent', async (t) => {
    const { parley, lead } = await start(t);
    const message = busMessage('shutdown', 'worker-1', 'lead', { reason: 'done' });
    assert.equal((await parley.admin.call('POST', '/v1/messages', message)).status, 202);
    assert.equal((await read(lead))[0]?.type, 'shutdown');
  });

  it('tells agents of other protocols what has no place in theirs', async (t) => {
    const { parley, worker } = await start(t);
    const forge = await parley.agent('forge', { dialect: 'task-format' });
    assert.equal((await worker.send(busMessage('agent:ready', 'worker-1', 'forge', { worker_id: 1 }))).status, 202);
    assert.match(JSON.stringify(await read(forge)), /cfn\.agent:ready.*worker_id/);
  });

  it('reads ids with capitals as the same ids without', async (t) => {
    const { lead, worker } = await start(t);
    const message = busMessage('request', 'Worker-1', 'LEAD', {});
    assert.equal((await worker.send(message)).status, 202);
    assert.deepEqual((({ from, to }) => ({ from, to }))((await read(lead))[0] ?? {}), { from: 'Worker-1', to: 'LEAD' });
  });
});

describe('a profile in a registration', () => {
  it('is shown, and gone with the next registration without it', async (t) => {
    const { parley } = await start(t);
    assert.equal((await parley.admin.call('GET', '/v1/agents/lead')).body.profile, 'cfn');
    await parley.admin.call('PUT', '/v1/agents/lead', messageRouting);
    assert.equal((await parley.admin.call('GET', '/v1/agents/lead')).body.profile, undefined);
  });

  it('is rejected for a dialect that does not have it', async (t) => {
    const { parley } = await start(t);
    const reply = await parley.admin.call('PUT', '/v1/agents/x', { dialect: 'round-table', profile: 'cfn' });
    assertRefused(reply, 400, 'invalid_request');
    assert.equal(reply.body.issues[0].path, 'profile');
  });
});
