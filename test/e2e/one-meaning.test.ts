import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { toUuid } from '../../shared/kernel/ids.ts';
import { toToolCallTaskId } from '../../shared/model/tool-call.ts';
import { assertRefused } from '../http/refusal.ts';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, headOf, madeCard, reports, Worker } from '../support/ground.ts';
import { messageRouting, mrMessage, newMsgId, type Wire } from '../support/message-routing.ts';
import { isShort } from '../support/scale.ts';
import { speakers } from '../support/speakers.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const parley = await deployment();
const { agent, admin } = parley;

/** A victim whose task has an id of its own kind, a worker that must be told it as a UUID, and somebody who can compute that. */
const scene = async () => {
  const [victim, worker, evil] = [await agent('victim', taskFormat), await agent('worker'), await agent('evil')];
  const id = `build-${randomUUID()}`;
  const ask = () => victim.send(tfRequest({ id, routing: { target: worker.id } }));
  const squat = (as = toUuid(id)) => evil.send(taskRequest(evil.id, { id: as, to: worker.id }));
  return { victim, worker, evil, id, ask, squat };
};

const finish = async (worker: TestAgent, victim: TestAgent, id: string) => {
  const [claimed, ...more] = await worker.claim({ wait: 10, max: 5 });
  assert.deepEqual(more, [], 'there is one task');
  const called: string = claimed.message.id;
  assert.equal((await worker.complete(called, { mine: true })).status, 202);
  const [outcome] = await victim.inbox(10);
  assert.deepEqual([outcome.id, outcome.result], [id, { mine: true }]);
  assert.equal((await victim.task(id)).state, 'completed');
  return called;
};

describe('the other id of a task', { concurrency: 4 }, () => {
  it('cannot be taken before the task is there', async () => {
    const { victim, worker, evil, id, ask, squat } = await scene();
    const refused = await squat();
    assertRefused(refused, 409, 'id_reserved');
    assert.match(refused.body.detail, /random UUID/);
    assert.equal((await ask()).status, 202);
    await finish(worker, victim, id);
    assert.deepEqual(await evil.inbox(), []);
  });

  it('cannot be taken while the task waits, nor once somebody holds it, however it is spelled', async () => {
    const { victim, worker, id, ask, squat } = await scene();
    assert.equal((await ask()).status, 202);
    assertRefused(await squat(), 409, 'id_reserved');
    const [claimed] = await worker.claim({ wait: 10 });
    assert.equal(claimed.message.id, toUuid(id));
    for (const spelled of [toUuid(id), toUuid(id).toUpperCase()])
      assertRefused(await squat(spelled), 409, 'id_reserved');
    assert.equal((await worker.complete(claimed.message.id)).status, 202);
    assert.equal((await victim.inbox(10))[0].id, id);
  });

  it('cannot be taken by whoever races with the task', async () => {
    const { victim, worker, id, ask, squat } = await scene();
    const replies = await Promise.all([squat(), ask(), squat(), squat()]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [409, 202, 409, 409],
    );
    await finish(worker, victim, id);
  });

  it('cannot be taken in any dialect, nor by batches, graphs or a message about a task', async () => {
    const { evil, worker, id } = await scene();
    const taken = toUuid(id);
    const sender = await agent('sender', taskFormat);
    const os = await agent('os', { dialect: 'agent-os' });
    const inBatch = tfRequest({ id: taken, routing: { target: worker.id } });
    const node = { taskId: taken, agent: worker.id, capability: 'parse_recipe' };
    const osRequest = speakers.find(({ dialect }) => dialect === 'agent-os')?.request(os.id, worker.id, {});
    const calls: [TestAgent, string, object][] = [
      [sender, '/v1/messages', inBatch],
      [sender, '/v1/tasks', inBatch],
      [sender, '/v1/batches', { tasks: [inBatch] }],
      [sender, '/v1/batches', { batchId: taken, tasks: [tfRequest({ routing: { target: worker.id } })] }],
      [sender, '/v1/graphs', { graphId: randomUUID(), nodes: [node] }],
      [os, '/v1/messages', { ...osRequest, id: `msg-${taken}` }],
      [evil, '/v1/messages', { ...about('task.progress', evil.id, randomUUID(), { percent: 1 }), id: taken }],
      [evil, '/v1/turns', { agent_id: worker.id, correlation_id: taken, mode: 'call' }],
    ];
    for (const [caller, path, body] of calls) {
      const reply = await caller.call('POST', path, body);
      assert.deepEqual([reply.status, reply.body.code], [409, 'id_reserved'], `${path} ${JSON.stringify(reply.body)}`);
    }
    assert.equal((await admin.call('GET', `/v1/tasks/${taken}`)).status, 404);
  });

  it('is not mistaken for the other attempt, or the other id, of a task with a cunning name', async () => {
    assert.notEqual(toUuid('a b'), toUuid('alias#a b'));
    assert.notEqual(toUuid('3'), toToolCallTaskId('alias', '3'));
  });
});

describe('the command of a tool call', { concurrency: 4 }, () => {
  const suspended = async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    await enqueued(admin, merlin.id);
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const { agent_turn_id, turn_epoch } = held;
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: merlin.id };
    const command = (target: string) => ({ subject: `cg.v1r3.default.public.cmd.tool.${target}.execute`, payload });
    return { merlin, worker, held, command, id: toToolCallTaskId(agent_turn_id, 'c1') };
  };

  it('cannot be forged by a task under its id, and neither can a report on it', async () => {
    const { merlin, held, id } = await suspended();
    const evil = await agent('evil', { ...taskFormat, capabilities: ['evil-skill'] });
    assertRefused(await reports(evil, merlin.id, held, 'c1'), 403, 'forbidden');
    for (const target of [{ routing: { target: evil.id } }, { type: 'evil-skill' }]) {
      assertRefused(await evil.send(tfRequest({ id, ...target })), 409, 'id_reserved');
    }
    assertRefused(await reports(evil, merlin.id, held, 'c1'), 403, 'forbidden');
    assert.equal((await headOf(admin, merlin.id)).status, 'suspended');
  });

  it('is not kept from its service by whoever computes its id beforehand', async () => {
    const { merlin, worker, held, command, id } = await suspended();
    const evil = await agent('evil', taskFormat);
    const search = await groundAgent(parley, 'search');
    await evil.send(tfRequest({ id, routing: { target: search.id } }));
    await evil.call('POST', '/v1/batches', { batchId: id, tasks: [tfRequest({ routing: { target: search.id } })] });
    assert.equal((await worker.agent.send(command(search.id))).status, 202);
    assert.equal((await reports(search, merlin.id, held, 'c1')).status, 202);
  });

  it('is reported on by who took it up, and not by others of the same capability', async () => {
    const capability = `search-${randomUUID().slice(0, 8)}`;
    const { merlin, worker, held, command } = await suspended();
    const tool = (name: string) => agent(name, { ...taskFormat, capabilities: [capability] });
    const [one, other] = [await tool('one'), await tool('other')];
    assert.equal((await worker.agent.send(command(capability))).status, 202);
    assert.equal((await one.claim({ wait: 10 })).length, 1);
    assertRefused(await reports(other, merlin.id, held, 'c1'), 403, 'forbidden');
    assert.equal((await reports(one, merlin.id, held, 'c1')).status, 202);
  });

  it('says who sent it, whatever its headers say', async () => {
    const { merlin, worker, command } = await suspended();
    const search = await agent('search', { dialect: 'common-ground' });
    const headers = { 'cg-SENDER': 'boss' };
    assert.equal((await worker.agent.send({ ...command(search.id), headers })).status, 202);
    const task = await eventually(async () => {
      const found = await admin.call('GET', `/v1/tasks?agent=${search.id}`);
      assert.equal(found.body.tasks.length, 1);
      return found.body.tasks[0];
    });
    const told = await admin.call('GET', `/v1/tasks/${task.id}?dialect=common-ground`);
    assert.equal(told.body.headers['cg-SENDER'], merlin.id);
    assert.ok(!JSON.stringify(told.body).includes('boss'));
  });
});

describe('a short id', { concurrency: 2 }, () => {
  /** More than a page of an index. */
  const MANY = isShort ? 16 : 110;
  const speaker = (name: string) => agent(name, messageRouting);
  const delegated = async (from: TestAgent, to: TestAgent, overrides: Record<string, unknown> = {}): Promise<Wire> => {
    const message = mrMessage('task-delegation', from.id, to.id, overrides);
    const { body } = await eventually(async () => {
      const reply = await from.send(message);
      assert.ok([200, 202].includes(reply.status), JSON.stringify(reply.body));
      return reply;
    }, 60_000);
    return { ...message, taskId: body.taskId, ignoredDependencies: body.ignoredDependencies };
  };
  const at = (n: number) => ({ timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString() });

  it(`is not hidden by ${MANY} messages of others under the same digits`, async () => {
    // The id of whoever hides it sorts before.
    const [evil, victim, expert] = [await speaker('a-evil'), await speaker('victim'), await speaker('expert')];
    const own = await delegated(victim, expert, at(0));
    const { msg_id } = own;
    for (let n = 1; n <= MANY; n += 2) {
      await Promise.all([
        delegated(evil, expert, { msg_id, ...at(n) }),
        delegated(evil, victim, { msg_id, ...at(n + 1) }),
      ]);
    }
    assert.equal((await victim.task(msg_id)).id, own.taskId);
    const context = { files: [], dependencies: [msg_id] };
    const next = await delegated(victim, expert, { payload: { task: 'Then this', context } });
    assert.equal(next.ignoredDependencies, undefined);
    assert.equal((await victim.task(next.msg_id)).state, 'waiting');
  });

  it('means the newest of those that its sender gave it to, however many', async () => {
    const [victim, one, other] = [await speaker('victim'), await speaker('one'), await speaker('other')];
    const msg_id = newMsgId();
    for (let n = 0; n < MANY; n += 2) {
      await Promise.all([
        delegated(victim, one, { msg_id, ...at(n) }),
        delegated(victim, other, { msg_id, ...at(n + 1) }),
      ]);
    }
    const newest = await delegated(victim, other, { msg_id, ...at(500) });
    assert.equal((await victim.task(msg_id)).id, newest.taskId);
  });

  it('under which several gave an agent tasks means none of them, and the agent is told', async () => {
    const [one, other, expert] = [await speaker('one'), await speaker('other'), await speaker('expert')];
    const first = await delegated(one, expert, at(1));
    assert.equal((await expert.task(first.msg_id)).id, first.taskId);
    await delegated(other, expert, { msg_id: first.msg_id, ...at(2) });
    const asked = await expert.call('GET', `/v1/tasks/${first.msg_id}`);
    assertRefused(asked, 409, 'ambiguous_id');
    assert.ok(asked.body.tasks.some(({ taskId }: Wire) => taskId === first.taskId));
    assert.equal((await one.task(first.msg_id)).id, first.taskId);
  });
});

describe('a card', () => {
  it('does not tell whether somebody else has made the same', async () => {
    const [one, other] = [await agent('one'), await agent('other')];
    const content = { secret: randomUUID() };
    const make = (by: TestAgent) => by.call('POST', '/v1/cards', { type: 'agent.thought', content });
    const replies = [await make(one), await make(other), await make(other), await make(one)];
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 201, 201, 201],
    );
    assert.equal(new Set(replies.map(({ body }) => body.card_id)).size, 1);
  });
});

describe('a box', () => {
  it('takes ten appends at once', async () => {
    const writer = await groundAgent(parley, 'writer');
    const cards = await Promise.all(
      Array.from({ length: 10 }, (_, n) => madeCard(writer, 'agent.thought', { n, run: randomUUID() })),
    );
    const { box_id } = (await writer.call('POST', '/v1/boxes', { kind: 'output', cards: [] })).body;
    const replies = await Promise.all(
      cards.map((card) => writer.call('POST', `/v1/boxes/${box_id}/append`, { cards: [card] })),
    );
    assert.deepEqual(
      replies.map(({ status }) => status),
      cards.map(() => 200),
    );
    const { body } = await writer.call('GET', `/v1/boxes/${box_id}`);
    assert.deepEqual(body.cards.toSorted(), cards.toSorted());
  });
});
