import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { type AgentOsAgent, agentOsAgent } from '../support/agent-os-agent.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const [brain, scribe] = [await agentOsAgent(parley, 'brain'), await agentOsAgent(parley, 'scribe')];
  const ask = (instanceId: string, from = 'brain-001') =>
    brain.say('query', 'scribe', {
      from: { agentId: 'brain', instanceId: from },
      to: { agentId: 'scribe', instanceId },
      ttl: 86_400,
    });
  const claim = async (instance?: string) => (await scribe.claim({ instance })).map(({ message }) => message.id);
  return { parley, brain, scribe, ask, claim };
};

const inbox = async (agent: AgentOsAgent, instance?: string): Promise<string[]> => {
  const path = `/v1/inbox${instance === undefined ? '' : `?instance=${instance}`}`;
  const { status, body } = await agent.call('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  return body.messages.map((message: { replyTo?: string; id: string }) => message.replyTo ?? message.id);
};

describe('message to one instance', () => {
  it('gives a task only to its named instance while that is live', async (t) => {
    const { ask, claim, scribe } = await start(t);
    assert.deepEqual([await claim('s1'), await claim('s2')], [[], []]);
    const [one, two] = [await ask('s1'), await ask('s2')];
    assert.deepEqual(await claim('s2'), [two.id]);
    assert.deepEqual([await claim('s2'), await claim()], [[], []]);
    assert.deepEqual(await claim('s1'), [one.id]);
    assert.equal((await scribe.respond('brain', one.id)).status, 202);
  });

  it('gives a task to any instance if its named one was never or not lately seen', async (t) => {
    const { parley, ask, claim } = await start(t);
    const unseen = await ask('s9');
    assert.deepEqual(await claim(), [unseen.id]);
    await claim('s1');
    parley.clock.advance(60_000);
    const gone = await ask('s1');
    assert.deepEqual(await claim('s2'), [gone.id]);
  });

  it('gives a task to any instance once its named one is no longer live', async (t) => {
    const { parley, ask, claim, brain } = await start(t);
    await claim('s1');
    const query = await ask('s1');
    parley.clock.advance(40_000);
    await claim('s1').then((ids) => assert.deepEqual(ids, [query.id]));
    const next = await ask('s1');
    for (let seconds = 0; seconds < 300; seconds += 30) {
      parley.clock.advance(30_000);
      await settled(parley);
      await inbox(brain);
      if (seconds < 120) await parley.admin.call('GET', '/v1/inbox?agent=scribe&instance=s1');
      if (seconds < 120) assert.deepEqual(await claim('s2'), []);
    }
    assert.deepEqual(await claim('s2'), [next.id]);
  });

  it('shows a direct message only to its named instance while that is live', async (t) => {
    const { parley, brain, scribe } = await start(t);
    await inbox(scribe, 's1');
    const event = await brain.say('event', 'scribe', { to: { agentId: 'scribe', instanceId: 's1' }, ttl: 86_400 });
    assert.deepEqual([await inbox(scribe, 's2'), await inbox(scribe, 's1')], [[], [event.id]]);
    parley.clock.advance(60_000);
    assert.deepEqual(await inbox(scribe, 's2'), [event.id]);
  });
});

describe('answer to an instance', () => {
  it('shows an answer to the instance that asked while that is live, otherwise to any', async (t) => {
    const { parley, brain, scribe, ask } = await start(t);
    await inbox(brain, 'b1');
    const [done, failed] = [await ask('s1', 'b1'), await ask('s1', 'b1')];
    await scribe.claim({ max: 2 });
    assert.equal((await scribe.respond('brain', done.id)).status, 202);
    assert.equal(
      (await scribe.err('brain', { code: 'UNAUTHORIZED', message: 'no' }, { replyTo: failed.id })).status,
      202,
    );
    await settled(parley);
    const both = [done.id, failed.id].toSorted();
    assert.deepEqual(await inbox(brain, 'b2'), []);
    assert.deepEqual((await inbox(brain, 'b1')).toSorted(), both);
    assert.deepEqual((await inbox(brain)).toSorted(), both);
    parley.clock.advance(60_000);
    assert.deepEqual((await inbox(brain, 'b2')).toSorted(), both);
  });
});

describe('message to a holder', () => {
  it('shows an answer or a cancellation to the instance that claimed the task while that is live, otherwise to any', async (t) => {
    const { parley, brain, ask, claim } = await start(t);
    const works = await parley.agent('clerk-of-works', { dialect: 'task-format' });
    const query = await ask('s1');
    assert.deepEqual(await claim('s1'), [query.id]);
    const asked = tfRequest({ routing: { target: 'clerk-of-works' } });
    await parley.agent('boss', { dialect: 'task-format' }).then((boss) => boss.send(asked));
    await works.claim({ instance: 'c1' });
    await works.send({ id: asked.id, status: 'input_required', input: { prompt: 'Which one?' } });
    const answer = { input: { which: 'that' } };
    assert.equal((await parley.admin.call('POST', `/v1/tasks/${asked.id}/input`, answer)).status, 202);
    assert.equal((await brain.call('POST', `/v1/tasks/${query.id}/cancel`)).status, 200);
    await settled(parley);
    const read = async (agent: string, instance: string) => {
      const { body } = await parley.admin.call('GET', `/v1/inbox?agent=${agent}&instance=${instance}`);
      return body.messages.length;
    };
    for (const [agent, own] of [
      ['scribe', 's1'],
      ['clerk-of-works', 'c1'],
    ] as const) {
      assert.deepEqual([await read(agent, 'another'), await read(agent, own)], [0, 1]);
    }
    parley.clock.advance(60_000);
    assert.deepEqual([await read('scribe', 'another'), await read('clerk-of-works', 'another')], [1, 1]);
  });

  it('shows a cancellation to any instance if the last claim named none', async (t) => {
    const { parley, brain, ask, claim } = await start(t);
    const query = await ask('s1');
    await claim('s1');
    parley.clock.advance(600_000);
    await settled(parley);
    assert.deepEqual(await claim(), [query.id]);
    await claim('s1');
    await brain.call('POST', `/v1/tasks/${query.id}/cancel`);
    await settled(parley);
    const { body } = await parley.admin.call('GET', '/v1/inbox?agent=scribe&instance=s2');
    assert.equal(body.messages.length, 1);
  });
});
