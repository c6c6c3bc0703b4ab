import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { enqueued, groundAgent, madeCard, Worker } from '../support/ground.ts';
import { deployment } from './deployment.ts';

const { admin, agent } = await deployment();

const DOMAIN = 'home';
const inDomain = { payload: { task: `${DOMAIN}.status` } };
const LARGE = 'The wall holds. '.repeat(1000);

const result = (holder: TestAgent, id: string, content: string): object =>
  about('task.result', holder.id, id, { status: 'completed', result: { format: 'markdown', content } });
const failure = (holder: TestAgent, id: string, retryAfterSeconds: number): object =>
  about('task.failed', holder.id, id, { error: 'rate_limited', message: 'later', retryAfterSeconds });

/** Claims in the domain until the task comes; what others asked for there goes back to its queue. */
const claimInDomain = async (claimer: TestAgent, id: string, options: object = {}): Promise<{ attempt: number }> => {
  for (let rounds = 0; rounds < 50; rounds++) {
    const tasks = await claimer.claim({ max: 1, wait: 2, domains: [DOMAIN], ...options });
    const found = tasks.find(({ message }) => message.id === id);
    if (found) return found;
    options = { messages: tasks.map(({ message }) => failure(claimer, message.id, 0)) };
  }
  return assert.fail(`${id} never came`);
};

describe('a claim', () => {
  it('reports on one task, with a result of any size, and brings the next', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const [first, second] = [await tim.request({ to: galahad.id }), await tim.request({ to: galahad.id })];
    assert.equal((await galahad.claim({ wait: 10 }))[0].message.id, first);
    const messages = [result(galahad, first, LARGE)];
    const { body } = await galahad.call('POST', '/v1/claims', { messages, wait: 10 });
    assert.deepEqual([body.results[0].status, body.tasks[0].message.id], [202, second]);
    const again = await galahad.call('POST', '/v1/claims', { messages });
    assert.deepEqual([again.body.results[0].status, again.body.tasks], [200, []]);
    assert.equal((await tim.task(first)).result.content, LARGE);
  });

  it('asks for work of others as well, in a domain or of one agent', async () => {
    const [tim, lance] = [await agent('tim'), await agent('lance', { domains: [DOMAIN] })];
    const [open, direct] = [
      taskRequest(tim.id, { ...inDomain, priority: 'critical' }),
      taskRequest(tim.id, { to: lance.id }),
    ];
    const { body } = await tim.call('POST', '/v1/claims', { messages: [open, direct] });
    assert.deepEqual(
      body.results.map(({ status }: { status: number }) => status),
      [202, 202],
    );
    assert.equal((await lance.claim({ wait: 10, domains: [] }))[0].message.id, direct.id);
    await claimInDomain(lance, open.id);
    for (const { id } of [open, direct]) assert.equal((await lance.complete(id)).status, 202);
  });

  it('calls a tool and another agent for a turn, as long as the turn waits for them', async () => {
    const ground = { admin, agent };
    const [merlin, tool, kay] = [
      await groundAgent(ground, 'merlin'),
      await groundAgent(ground, 'tool'),
      await groundAgent(ground, 'kay'),
    ];
    const [worker, helper] = [new Worker(merlin), new Worker(kay)];
    await enqueued(admin, merlin.id);
    const { agent_turn_id, turn_epoch } = await worker.begin();
    const command = (subject: string, tool_call_id: string, more: object = {}) => ({
      subject: `cg.v1r3.default.public.cmd.${subject}`,
      payload: { tool_call_id, agent_id: merlin.id, agent_turn_id, turn_epoch, ...more },
    });
    const args = { target_ref: kay.id, instruction: 'help' };
    const messages = [
      command(`tool.${tool.id}.execute`, 'call'),
      command('sys.pmo.internal.delegate', 'delegate', {
        tool_call_card_id: await madeCard(merlin, 'tool.call', { args }),
      }),
    ];
    const asked = async () =>
      (await merlin.call('POST', '/v1/claims', { messages })).body.results.map(
        ({ status }: { status: number }) => status,
      );
    assert.deepEqual(await asked(), [422, 422]);
    await worker.suspend({ agent_turn_id, turn_epoch, inbox: [] }, ['call', 'delegate']);
    assert.deepEqual(await asked(), [202, 202]);
    assert.equal((await tool.claim({ wait: 15 }))[0].message.payload.tool_call_id, 'call');
    assert.equal((await helper.take({ wait: 15 })).inbox[0].recursion_depth, 1);
  });

  it('brings a failed attempt of its own agent again', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request({ to: galahad.id });
    await galahad.claim({ wait: 10 });
    for (const [attempt, seconds] of [
      [2, 0],
      [3, 1],
    ] as const) {
      const [again] = await galahad.claim({ messages: [failure(galahad, id, seconds)], wait: 20 });
      assert.deepEqual([again.message.id, again.attempt], [id, attempt]);
    }
  });

  it('brings a failed attempt to whoever serves its domain, at once or after the time that was asked for', async () => {
    const [tim, lance, bors] = [
      await agent('tim'),
      await agent('lance', { domains: [DOMAIN] }),
      await agent('bors', { domains: [DOMAIN] }),
    ];
    const id = await tim.request({ ...inDomain, priority: 'critical' });
    await claimInDomain(lance, id);
    await lance.call('POST', '/v1/claims', { messages: [failure(lance, id, 0)], domains: [] });
    assert.equal((await claimInDomain(bors, id)).attempt, 2);
    await bors.call('POST', '/v1/claims', { messages: [failure(bors, id, 1)], domains: [] });
    assert.equal((await claimInDomain(lance, id)).attempt, 3);
    assert.equal((await lance.complete(id)).status, 202);
  });

  it('leaves low priority in the domain’s queue for another if its agent holds something', async () => {
    const [tim, lance, bors] = [
      await agent('tim'),
      await agent('lance', { domains: [DOMAIN] }),
      await agent('bors', { domains: [DOMAIN] }),
    ];
    await tim.request({ to: lance.id });
    assert.equal((await lance.claim({ wait: 10 })).length, 1);
    const low = await tim.request({ ...inDomain, priority: 'low' });
    const others = await lance.claim({ wait: 1, domains: [DOMAIN] });
    assert.ok(!others.some(({ message }) => message.id === low));
    await lance.call('POST', '/v1/claims', { messages: others.map(({ message }) => failure(lance, message.id, 0)) });
    await claimInDomain(bors, low);
    assert.equal((await bors.complete(low)).status, 202);
  });

  it('is made by an administrator for an agent, and so is the reading of its inbox', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request({ to: galahad.id });
    const claimed = await admin.call('POST', '/v1/claims', { agent: galahad.id, wait: 10 });
    assert.equal(claimed.body.tasks[0].message.id, id);
    assert.equal((await galahad.complete(id)).status, 202);
    const inbox = await admin.call('GET', `/v1/inbox?agent=${tim.id}&wait=10`);
    assert.equal(inbox.body.messages[0].correlationId, id);
  });
});
