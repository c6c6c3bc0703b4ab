import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { agentOsAgent, agentOsMessage } from '../support/agent-os-agent.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** A request in each protocol that names its parent in a field which may name other messages as well. */
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
  /** Tim asks Galahad, who asks Kay for a part of it. */
  const delegated = async (parley: TestParley) => {
    const [tim, galahad, kay] = await Promise.all(['tim', 'galahad', 'kay'].map((id) => parley.agent(id, { dialect })));
    assert.ok(tim && galahad && kay);
    const request = requestOf('tim', 'galahad');
    const name = String(request.msg_id ?? request.id);
    const parent = await asked(tim, request);
    assert.equal((await galahad.claim()).length, 1);
    const child = await asked(galahad, requestOf('galahad', 'kay', name));
    return { tim, galahad, kay, name, parent, child };
  };

  describe(`a request of ${dialect} that names a task as its parent`, () => {
    it('is a part of it: it is listed there, and cancelled with it', async (t) => {
      const parley = await testParley(t);
      const { tim, kay, parent, child } = await delegated(parley);
      assert.deepEqual((await tim.task(parent)).subtasks, [child]);
      assert.equal((await kay.claim()).length, 1);
      assert.equal((await tim.call('POST', `/v1/tasks/${parent}/cancel`)).status, 200);
      await settled(parley);
      assert.equal((await kay.task(child)).state, 'cancelled');
    });

    it('is refused where it would go back to who asked, or to who asks', async (t) => {
      const parley = await testParley(t);
      const { galahad, name } = await delegated(parley);
      for (const to of ['tim', 'galahad']) {
        const back = requestOf('galahad', to, name);
        const { body } = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => galahad.send(back));
        assert.deepEqual(body.delegationChain, ['tim', 'galahad']);
      }
    });

    it('only carries the name where the task is not its to speak of, or has ended', async (t) => {
      const parley = await testParley(t);
      const { tim, galahad, name, parent, child } = await delegated(parley);
      const mordred = await parley.agent('mordred', { dialect });
      await asked(mordred, requestOf('mordred', 'kay', name));
      await tim.call('POST', `/v1/tasks/${parent}/cancel`);
      await settled(parley);
      await asked(galahad, requestOf('galahad', 'tim', name));
      assert.deepEqual((await tim.task(parent)).subtasks, [child]);
    });
  });
}

describe('an agent that delegates to itself', () => {
  for (const [dialect, requestOf] of Object.entries(requests)) {
    it(`is refused in ${dialect}`, async (t) => {
      const parley = await testParley(t);
      const tim = await parley.agent('tim', { dialect });
      const { body } = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () =>
        tim.send({ ...requestOf('tim', 'tim'), ...(dialect === 'agent-os' && { to: requestOf('tim', 'tim').from }) }),
      );
      assert.deepEqual(body.delegationChain, ['tim']);
    });
  }

  it('may mean another of its instances', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { dialect: 'agent-os' });
    const to = { agentId: 'tim', instanceId: 'tim-002' };
    await asked(tim, agentOsMessage('query', 'tim', 'tim', { to }));
    assert.equal((await tim.claim({ instance: 'tim-002' })).length, 1);
  });
});

describe('a question of AgentOS back to who asked', () => {
  it('is given to it, and answered, while the task stays with its holder', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await agentOsAgent(parley, 'tim'), await agentOsAgent(parley, 'galahad')];
    const first = await tim.say('query', 'galahad');
    await galahad.claim();
    const back = await galahad.say('query', 'tim', { replyTo: first.id });
    const [{ message }] = await tim.claim();
    assert.deepEqual([message.id, message.replyTo, message.type], [back.id, first.id, 'query']);
    assert.equal((await tim.respond('galahad', back.id)).status, 202);
    const [answer] = await galahad.inbox(5);
    assert.equal(answer.replyTo, back.id);
    assert.equal((await galahad.respond('tim', first.id)).status, 202);
    assert.equal((await tim.task(first.id, 5)).status, 'completed');
  });

  it('is cancelled with the task', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await agentOsAgent(parley, 'tim'), await agentOsAgent(parley, 'galahad')];
    const first = await tim.say('query', 'galahad');
    await galahad.claim();
    const back = await galahad.say('query', 'tim', { replyTo: first.id });
    await tim.call('POST', `/v1/tasks/${first.id}/cancel`);
    assert.equal((await galahad.task(back.id, 5)).status, 'cancelled');
  });

  it('is no way to ask each other for ever, to give orders, or to speak for the holder', async (t) => {
    const parley = await testParley(t);
    const tim = await agentOsAgent(parley, 'tim');
    const [galahad, kay] = [await agentOsAgent(parley, 'galahad'), await agentOsAgent(parley, 'kay')];
    const first = await tim.say('query', 'galahad');
    const early = galahad.message('query', 'tim', { replyTo: first.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => galahad.send(early));
    await galahad.claim();
    const order = galahad.message('command', 'tim', { replyTo: first.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => galahad.send(order));
    const part = await galahad.say('query', 'kay', { replyTo: first.id });
    await kay.claim();
    const beyond = kay.message('query', 'tim', { replyTo: part.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => kay.send(beyond));
    const back = await galahad.say('query', 'tim', { replyTo: first.id });
    await tim.claim();
    const again = tim.message('query', 'galahad', { replyTo: back.id });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => tim.send(again));
  });
});

describe('a part of a task that is for whoever serves a domain', () => {
  it('is not claimed by what somebody says who had the work in hand before', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
    const parent = await tim.request({ to: 'galahad' });
    const child = await galahad.request({ correlationId: parent });
    const { body } = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => tim.claimed(child));
    assert.deepEqual(body.delegationChain, ['tim', 'galahad']);
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => galahad.complete(child));
    assert.equal((await kay.claimed(child)).status, 202);
  });

  const requestIn = {
    domain: (agent: TestAgent, to?: string, parent?: string) => taskRequest(agent.id, { to, correlationId: parent }),
    capability: (_agent: TestAgent, target?: string, parentTaskId?: string) =>
      tfRequest({ type: 'cut_meat', routing: { target }, context: { parentTaskId } }),
  };
  for (const way of ['domain', 'capability'] as const) {
    const request = requestIn[way];
    const registration = way === 'domain' ? undefined : { dialect: 'task-format', capabilities: ['cut_meat'] };
    /** Tim has asked Galahad, who may ask whoever can do it for a part. All of them can. */
    const atTheTable = async (parley: TestParley) => {
      const register = (id: string) => parley.agent(id, registration);
      const [tim, galahad, kay] = [await register('tim'), await register('galahad'), await register('kay')];
      const parent = await asked(tim, request(tim, 'galahad'));
      await galahad.claim();
      const askForPart = () => asked(galahad, request(galahad, undefined, parent));
      return { tim, galahad, kay, askForPart, askForMore: () => asked(kay, request(kay)) };
    };

    it(`is left by a claim of those who had the work in hand before, with what stands behind it (${way})`, async (t) => {
      const { tim, galahad, kay, askForPart, askForMore } = await atTheTable(await testParley(t));
      const part = await askForPart();
      assert.deepEqual(await tim.claim({ max: 10 }), []);
      const behind = await askForMore();
      const [{ message }, ...more] = await galahad.claim({ max: 10 });
      assert.deepEqual([message.id, more], [behind, []]);
      assert.equal((await kay.claim({ max: 10 }))[0].message.id, part);
    });

    it(`goes at once to one who waits behind them, and they wait on for other work (${way})`, async (t) => {
      const parley = await testParley(t);
      const { tim, galahad, kay, askForPart, askForMore } = await atTheTable(parley);
      const [theirs, own] = [[tim.claim({ wait: 20 }), galahad.claim({ wait: 20 })], kay.claim({ wait: 20 })];
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
