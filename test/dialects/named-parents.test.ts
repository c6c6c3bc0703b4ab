import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { agentOsMessage } from '../support/agent-os-agent.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** A request in each protocol that names its parent in a field which may name other messages as well. */
const requests: Record<string, (from: string, to: string, parent?: string) => Record<string, unknown>> = {
  'round-table': (from, to, correlationId) => taskRequest(from, { to, correlationId }),
  'agent-os': (from, to, replyTo) => agentOsMessage('query', from, to, { replyTo }),
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
});
