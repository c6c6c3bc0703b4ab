import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { agentOsMessage, content, evidence } from '../support/agent-os-agent.ts';
import { about, callerWith, type TestAgent } from '../support/api.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { speakers, type Wire } from '../support/speakers.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

type Test = Parameters<typeof testParley>[0];

/** A task of the dialect `of`, which an agent of the dialect `by` has claimed. */
const claimed = async (t: Test, of: string, by: string) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', { dialect: of, inbox: 'ends' });
  const worker = await parley.agent('worker', { dialect: by });
  const [asking, doing] = [of, by].map((name) => speakers.find(({ dialect }) => dialect === name));
  const reply = await requester.send(asking?.request('requester', 'worker', { scope: 'daily' }) ?? {});
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  await settled(parley);
  const taken = await doing?.take(worker);
  assert.ok(taken && doing);
  const id: string = reply.body.taskId ?? reply.body.agentTurnId;
  return {
    parley,
    requester,
    worker,
    id,
    called: doing.calledIn(taken),
    state: async () => (await requester.task(id)).state,
  };
};

const accepted = async (agent: TestAgent, message: object): Promise<Wire> => {
  const { status, body } = await agent.send(message);
  assert.equal(status, 202, JSON.stringify(body));
  return body;
};

const blocked = (called: string, more: object = {}) =>
  mrMessage('status-update', 'worker', 'requester', {
    correlation_id: called,
    payload: { status: 'blocked', message: 'Which branch?', blockers: ['no branch'] },
    ...more,
  });

const queryBack = (called: string, more: object = {}) =>
  agentOsMessage('query', 'worker', 'requester', {
    replyTo: called,
    payload: content({ question: 'Which regime?' }),
    ...more,
  });

describe('A question of an AgentOS holder', () => {
  it('reaches an AgentOS requester as the query that it was, whose response reaches the holder with its evidence', async (t) => {
    const { requester, worker, called, state } = await claimed(t, 'agent-os', 'agent-os');
    const query = queryBack(called, { context: { requestId: 'r' }, priority: 'high' });
    await accepted(worker, query);
    const [asked] = await requester.inbox(20);
    const { to: _to, retryCount: _count, parley: _parley, ...rest } = asked;
    for (const [field, value] of Object.entries(rest)) assert.deepEqual(value, Object(query)[field], field);
    assert.equal(await state(), 'input_required');
    const response = agentOsMessage('response', 'requester', 'worker', {
      replyTo: asked.id,
      payload: content({ regime: 'national' }),
      evidence: evidence(),
    });
    assert.equal((await accepted(requester, response)).duplicate, false);
    assert.equal((await requester.send(response)).body.duplicate, true);
    const [answer] = await worker.inbox(20);
    assert.deepEqual(
      [answer.type, answer.id, answer.replyTo, answer.payload.content, answer.evidence],
      ['response', response.id, query.id, { regime: 'national' }, evidence()],
    );
    assert.equal(await state(), 'claimed');
  });

  it('does not stop the holder, who goes on and completes without an answer', async (t) => {
    const { parley, requester, worker, called, state } = await claimed(t, 'agent-os', 'agent-os');
    await accepted(worker, queryBack(called));
    parley.clock.advance(600_000);
    assert.equal(await state(), 'input_required');
    const event = { replyTo: called, payload: content({ percent: 10 }) };
    await accepted(worker, agentOsMessage('event', 'worker', 'requester', event));
    assert.equal(await state(), 'in_progress');
    await accepted(worker, queryBack(called));
    const response = { replyTo: called, payload: content({ answer: 1 }), evidence: evidence() };
    await accepted(worker, agentOsMessage('response', 'worker', 'requester', response));
    assert.equal(await state(), 'completed');
    const { history } = await requester.task(called);
    assert.deepEqual(
      history.map(({ event: name }: Wire) => name).filter((name: string) => name !== 'requested'),
      ['claimed', 'input_required', 'progress', 'input_required', 'completed'],
    );
  });

  it('lost with its holder leaves the task to another attempt once its lease ends', async (t) => {
    const { parley, worker, called, state } = await claimed(t, 'agent-os', 'agent-os');
    await accepted(worker, queryBack(called));
    await accepted(worker, agentOsMessage('event', 'worker', 'requester', { replyTo: called, payload: content({}) }));
    parley.clock.advance(300_001);
    await settled(parley);
    assert.equal(await state(), 'requested');
  });
});

describe('A blocked status update of a Message Routing holder', () => {
  it('reaches a Message Routing requester as it was, whose status update in reply reaches the holder as it is', async (t) => {
    const { requester, worker, called, state } = await claimed(t, 'message-routing', 'message-routing');
    const question = blocked(called);
    await accepted(worker, question);
    assert.deepEqual(await requester.inbox(20), [question]);
    assert.equal(await state(), 'input_required');
    const answer = mrMessage('status-update', 'requester', 'worker', {
      correlation_id: question.msg_id,
      payload: { status: 'in_progress', message: 'Take main.' },
    });
    const taken = await accepted(requester, answer);
    assert.equal(taken.duplicate, false);
    assert.equal((await requester.send(answer)).body.duplicate, true);
    assert.deepEqual(await worker.inbox(20), [answer]);
    assert.equal(await state(), 'claimed');
  });

  it('is answered by a result about the task, too', async (t) => {
    const { requester, worker, called, state } = await claimed(t, 'message-routing', 'message-routing');
    await accepted(worker, blocked(called));
    const answer = mrMessage('result', 'requester', 'worker', { correlation_id: called });
    await accepted(requester, answer);
    assert.deepEqual(await worker.inbox(20), [answer]);
    assert.equal(await state(), 'claimed');
  });

  it('is asked again with another one, and over with the next report', async (t) => {
    const { requester, worker, called, state } = await claimed(t, 'message-routing', 'message-routing');
    const questions = [blocked(called), blocked(called)];
    for (const question of questions) await accepted(worker, question);
    assert.deepEqual(
      (await requester.inbox(20)).map(({ msg_id }) => msg_id).sort(),
      questions.map(({ msg_id }) => msg_id).sort(),
    );
    await accepted(worker, mrMessage('status-update', 'worker', 'requester', { correlation_id: called }));
    assert.equal(await state(), 'in_progress');
    const late = { correlation_id: questions[0]?.msg_id, payload: { status: 'in_progress', message: 'Take main.' } };
    await accepted(requester, mrMessage('status-update', 'requester', 'worker', late));
    assert.equal(await state(), 'in_progress', 'what comes late is a message like any other');
    assert.equal((await worker.inbox(20)).at(-1)?.payload.message, 'Take main.');
  });

  it('about no task asks nobody', async (t) => {
    const { admin: _admin, agent } = await testParley(t);
    const [worker, requester] = [await agent('worker', messageRouting), await agent('requester', messageRouting)];
    await accepted(worker, mrMessage('status-update', 'worker', 'requester', { payload: { status: 'blocked' } }));
    assert.equal((await requester.inbox(20)).length, 1);
  });
});

describe('A reply to a question', () => {
  it('of a Round Table requester is a task.result about its own task', async (t) => {
    const { requester, worker, id, called, state } = await claimed(t, 'round-table', 'task-format');
    await accepted(worker, { id: called, status: 'input_required', input: { prompt: 'How many?' } });
    await accepted(requester, about('task.result', 'requester', id, { status: 'completed', result: { n: 4 } }));
    assert.deepEqual((await worker.inbox(20))[0].input.answer, { n: 4 });
    assert.equal(await state(), 'claimed');
  });

  it('must have the shape that the question asks for', async (t) => {
    const { requester, worker, called } = await claimed(t, 'agent-os', 'task-format');
    const schema = { type: 'object', required: ['servings'] };
    await accepted(worker, { id: called, status: 'input_required', input: { prompt: 'How many?', schema } });
    const [asked] = await requester.inbox(20);
    assert.deepEqual(asked.payload.content, { question: 'How many?', parameters: { schema } });
    const response = (answer: object) =>
      agentOsMessage('response', 'requester', 'worker', {
        replyTo: asked.id,
        payload: content(answer),
        evidence: evidence(),
      });
    const refused = await requester.send(response({}));
    assert.deepEqual([refused.status, refused.body.issues[0].path], [400, 'input.servings']);
    await accepted(requester, response({ servings: 4 }));
  });

  it('is no answer from anybody but the requester, nor to another holder', async (t) => {
    const { parley, requester, worker, called, state } = await claimed(t, 'agent-os', 'agent-os');
    const query = queryBack(called);
    await accepted(worker, query);
    const intruder = await parley.agent('intruder', { dialect: 'agent-os' });
    const response = (from: string, to: string, replyTo: string) =>
      agentOsMessage('response', from, to, { replyTo, evidence: evidence() });
    for (const [agent, message] of [
      [intruder, response('intruder', 'worker', query.id)],
      [intruder, response('intruder', 'worker', called)],
      [requester, response('requester', 'intruder', query.id)],
    ] as const) {
      assert.equal((await agent.send(message)).body.code, 'task_not_found');
    }
    assert.equal(await state(), 'input_required');
  });

  it('to a question that another agent asked under the same id answers that one only', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { dialect: 'agent-os' });
    const query = { ...queryBack(''), id: 'msg-8b2f5a0e-0000-4000-8000-000000000009' };
    const asked: Record<string, string> = {};
    for (const name of ['worker', 'other']) {
      const agent = await parley.agent(name, { dialect: 'agent-os' });
      asked[name] = (await accepted(requester, agentOsMessage('query', 'requester', name))).id;
      await agent.claim();
      const from = { agentId: name, instanceId: name };
      await accepted(agent, { ...query, from, replyTo: asked[name] });
    }
    const response = agentOsMessage('response', 'requester', 'worker', { replyTo: query.id, evidence: evidence() });
    await accepted(requester, response);
    const stateOf = async (name: string) => (await requester.task(asked[name] ?? '')).state;
    assert.deepEqual([await stateOf('worker'), await stateOf('other')], ['claimed', 'input_required']);
  });

  it('comes from the relay as over HTTP', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { dialect: 'agent-os', transport: 'nats' });
    const worker = await parley.agent('worker', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const relay = callerWith(parley.transport, (await parley.admin.call('POST', '/v1/relay/key')).body.key);
    const bring = async (message: object) => {
      const envelopes = [{ subject: 'parley.default.send', headers: {} }];
      const { body } = await relay.call('POST', '/v1/messages', { messages: [message], envelopes });
      assert.equal(body.results[0].status, 202, JSON.stringify(body));
    };
    const query = agentOsMessage('query', requester.id, 'worker');
    await bring(query);
    const [{ message }] = await worker.claim();
    await accepted(worker, { id: message.id, status: 'input_required', input: { prompt: 'How many?' } });
    await settled(parley);
    await bring(agentOsMessage('response', requester.id, 'worker', { replyTo: query.id, evidence: evidence() }));
    assert.equal((await worker.inbox(20))[0].input.answer.answer, undefined);
    assert.equal((await worker.task(message.id)).state, 'claimed');
  });
});

describe('A question of a Task Format holder', () => {
  it('stops the holder unless it says that it is resumable', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { dialect: 'task-format' });
    const worker = await parley.agent('worker', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    for (const [resumable, status] of [
      [undefined, 409],
      [true, 202],
    ]) {
      const { id } = tfRequest();
      await accepted(requester, tfRequest({ id }));
      await worker.claim();
      await accepted(worker, { id, status: 'input_required', input: { prompt: 'How many?', resumable } });
      assert.equal((await worker.send({ id, status: 'in_progress' })).status, status);
    }
  });
});

describe('A question whose fields have names of the protocol', () => {
  it('stays a question of its task to a native requester', async (t) => {
    const { requester, worker, id, called } = await claimed(t, 'native', 'task-format');
    const input = { prompt: 'How many?', kind: 'result', taskId: 'other', id: 'other', output: 'done' };
    await accepted(worker, { id: called, status: 'input_required', input });
    const [question] = await requester.inbox(20);
    assert.deepEqual([question.kind, question.taskId, question.prompt], ['question', id, 'How many?']);
    assert.notEqual(question.id, 'other');
    await accepted(requester, { kind: 'answer', taskId: id, answer: 4 });
    const [answer] = await worker.inbox(20);
    assert.deepEqual([answer.id, answer.input.answer], [id, 4]);
  });
});
