import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { agentOsAgent, agentOsMessage } from '../support/agent-os-agent.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** Requests of the dialects whose parent field may also name other messages. */
const requests: Record<string, (from: string, to: string, parent?: string) => Record<string, unknown>> = {
  'round-table': (from, to, correlationId) => taskRequest(from, { to, correlationId }),
  'agent-os': (from, to, replyTo) => agentOsMessage('command', from, to, { replyTo }),
  'message-routing': (from, to, correlation_id) => mrMessage('task-delegation', from, to, { correlation_id }),
};

const asked = async (agent: TestAgent, message: Record<string, unknown>): Promise<string> => {
  const reply = await agent.send(message);
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return reply.body.taskId;
};

for (const [dialect, requestOf] of Object.entries(requests)) {
  /** The requester asks the worker, which asks the helper for a part of it. */
  const delegated = async (parley: TestParley) => {
    const [requester, worker, helper] = await Promise.all(
      ['requester', 'worker', 'helper'].map((id) => parley.agent(id, { dialect })),
    );
    assert.ok(requester && worker && helper);
    const request = requestOf('requester', 'worker');
    const name = String(request.msg_id ?? request.id);
    const parent = await asked(requester, request);
    assert.equal((await worker.claim()).length, 1);
    const child = await asked(worker, requestOf('worker', 'helper', name));
    return { requester, worker, helper, name, parent, child };
  };

  describe(`${dialect} subtask`, () => {
    it(`lists a ${dialect} subtask in its parent, and cancels it with the parent`, async (t) => {
      const parley = await testParley(t);
      const { requester, helper, parent, child } = await delegated(parley);
      assert.deepEqual((await requester.task(parent)).subtasks, [child]);
      assert.equal((await helper.claim()).length, 1);
      assert.equal((await requester.call('POST', `/v1/tasks/${parent}/cancel`)).status, 200);
      await settled(parley);
      assert.equal((await helper.task(child)).state, 'cancelled');
    });

    it(`rejects a ${dialect} subtask for its own sender or the requester of its parent`, async (t) => {
      const parley = await testParley(t);
      const { worker, name } = await delegated(parley);
      for (const to of ['requester', 'worker']) {
        const back = requestOf('worker', to, name);
        const { body } = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => worker.send(back));
        assert.deepEqual(body.delegationChain, ['requester', 'worker']);
      }
    });

    it(`links no ${dialect} subtask to a task that has ended or that its sender may not see`, async (t) => {
      const parley = await testParley(t);
      const { requester, worker, name, parent, child } = await delegated(parley);
      const intruder = await parley.agent('intruder', { dialect });
      await asked(intruder, requestOf('intruder', 'helper', name));
      await requester.call('POST', `/v1/tasks/${parent}/cancel`);
      await settled(parley);
      await asked(worker, requestOf('worker', 'requester', name));
      assert.deepEqual((await requester.task(parent)).subtasks, [child]);
    });
  });
}

describe('delegation to oneself', () => {
  for (const [dialect, requestOf] of Object.entries(requests)) {
    it(`rejects a request of an agent to itself in ${dialect}`, async (t) => {
      const parley = await testParley(t);
      const requester = await parley.agent('requester', { dialect });
      const { body } = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () =>
        requester.send({
          ...requestOf('requester', 'requester'),
          ...(dialect === 'agent-os' && { to: requestOf('requester', 'requester').from }),
        }),
      );
      assert.deepEqual(body.delegationChain, ['requester']);
    });
  }

  it('accepts a request to another instance of the same agent', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { dialect: 'agent-os' });
    const to = { agentId: 'requester', instanceId: 'requester-002' };
    await asked(requester, agentOsMessage('query', 'requester', 'requester', { to }));
    assert.equal((await requester.claim({ instance: 'requester-002' })).length, 1);
  });
});

describe('AgentOS query back to the requester', () => {
  it('becomes a query of its own while another one waits for its answer', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await agentOsAgent(parley, 'requester'), await agentOsAgent(parley, 'worker')];
    const first = await requester.say('query', 'worker');
    await worker.claim();
    const asked = [0, 1].map(() => worker.message('query', 'requester', { replyTo: first.id }));
    for (const message of asked) assert.equal((await worker.send(message)).status, 202);
    assert.equal((await requester.inbox(5))[0].id, asked[0]?.id);
    assert.equal((await requester.claim())[0].message.id, asked[1]?.id);
  });

  it('gives a query of the holder to the requester and returns the answer, while the holder keeps the task', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await agentOsAgent(parley, 'requester'), await agentOsAgent(parley, 'worker')];
    const first = await requester.say('query', 'worker');
    await worker.claim();
    const back = await worker.say('query', 'requester', { replyTo: first.id });
    const [message] = await requester.inbox(5);
    assert.deepEqual([message.id, message.replyTo, message.type], [back.id, first.id, 'query']);
    assert.equal((await requester.task(first.id)).state, 'input_required');
    assert.deepEqual(await requester.claim(), []);
    assert.equal((await requester.respond('worker', back.id)).status, 202);
    const [answer] = await worker.inbox(5);
    assert.deepEqual([answer.type, answer.replyTo], ['response', back.id]);
    assert.equal(answer.evidence.sources.length, 1);
    assert.equal((await worker.respond('requester', first.id)).status, 202);
    assert.equal((await requester.task(first.id, 5)).status, 'completed');
  });

  it('leaves a task that is cancelled meanwhile to nobody', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await agentOsAgent(parley, 'requester'), await agentOsAgent(parley, 'worker')];
    const first = await requester.say('query', 'worker');
    await worker.claim();
    const back = await worker.say('query', 'requester', { replyTo: first.id });
    await requester.call('POST', `/v1/tasks/${first.id}/cancel`);
    const [told] = await worker.inbox(5);
    assert.equal(told.payload.content.code, 'CANCELLED');
    assert.equal((await requester.respond('worker', back.id)).body.code, 'cancelled');
  });

  it('is rejected before a claim, as a command and from a subtask', async (t) => {
    const parley = await testParley(t);
    const requester = await agentOsAgent(parley, 'requester');
    const [worker, helper] = [await agentOsAgent(parley, 'worker'), await agentOsAgent(parley, 'helper')];
    const first = await requester.say('query', 'worker');
    const early = worker.message('query', 'requester', { replyTo: first.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => worker.send(early));
    await worker.claim();
    const order = worker.message('command', 'requester', { replyTo: first.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => worker.send(order));
    const part = await worker.say('query', 'helper', { replyTo: first.id });
    await helper.claim();
    const beyond = helper.message('query', 'requester', { replyTo: part.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => helper.send(beyond));
  });
});

describe('subtask for the providers of a domain or capability', () => {
  it('rejects a claiming report from an agent of the delegation chain', async (t) => {
    const parley = await testParley(t);
    const [requester, worker, helper] = [
      await parley.agent('requester'),
      await parley.agent('worker'),
      await parley.agent('helper'),
    ];
    const parent = await requester.request({ to: 'worker' });
    const child = await worker.request({ correlationId: parent });
    const { body } = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => requester.claimed(child));
    assert.deepEqual(body.delegationChain, ['requester', 'worker']);
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => worker.complete(child));
    assert.equal((await helper.claimed(child)).status, 202);
  });

  const requestIn = {
    domain: (agent: TestAgent, to?: string, parent?: string) => taskRequest(agent.id, { to, correlationId: parent }),
    capability: (_agent: TestAgent, target?: string, parentTaskId?: string) =>
      tfRequest({ type: 'cut_meat', routing: { target }, context: { parentTaskId } }),
  };
  for (const way of ['domain', 'capability'] as const) {
    const request = requestIn[way];
    const registration = way === 'domain' ? undefined : { dialect: 'task-format', capabilities: ['cut_meat'] };
    /** The worker holds a task of the requester and may ask all providers for a part. All three are providers. */
    const withProviders = async (parley: TestParley) => {
      const register = (id: string) => parley.agent(id, registration);
      const [requester, worker, helper] = [
        await register('requester'),
        await register('worker'),
        await register('helper'),
      ];
      const parent = await asked(requester, request(requester, 'worker'));
      await worker.claim();
      const askForPart = () => asked(worker, request(worker, undefined, parent));
      return { requester, worker, helper, askForPart, askForMore: () => asked(helper, request(helper)) };
    };

    it(`skips a subtask, but not the task behind it, in a claim by an agent of the delegation chain (${way})`, async (t) => {
      const { requester, worker, helper, askForPart, askForMore } = await withProviders(await testParley(t));
      const part = await askForPart();
      assert.deepEqual(await requester.claim({ max: 10 }), []);
      const behind = await askForMore();
      const [{ message }, ...more] = await worker.claim({ max: 10 });
      assert.deepEqual([message.id, more], [behind, []]);
      assert.equal((await helper.claim({ max: 10 }))[0].message.id, part);
    });

    it(`gives a subtask to a waiting provider behind agents of the delegation chain, which wait on (${way})`, async (t) => {
      const parley = await testParley(t);
      const { requester, worker, helper, askForPart, askForMore } = await withProviders(parley);
      const [theirs, own] = [[requester.claim({ wait: 20 }), worker.claim({ wait: 20 })], helper.claim({ wait: 20 })];
      const begun = parley.clock.now();
      const part = await askForPart();
      assert.equal((await own)[0].message.id, part);
      const more = [await askForMore(), await askForMore()];
      const given = (await Promise.all(theirs)).map(([task]) => task.message.id);
      assert.deepEqual(given.toSorted(), more.toSorted());
      assert.equal(parley.clock.now(), begun);
    });
  }
});
