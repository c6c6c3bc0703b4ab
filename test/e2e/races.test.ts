import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import { inTurns } from '../support/in-turns.ts';
import { isShort } from '../support/scale.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

const [RACERS, TIMES] = isShort ? [20, 40] : [50, 100];
const DOMAIN = 'home';
const task = { task: `${DOMAIN}.status` };
const several = (count: number): Promise<TestAgent[]> =>
  inTurns(Array(count).fill('racer'), (name: string) => agent(name, { domains: [DOMAIN] }));

const counted = (replies: Reply[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, body } of replies) {
    const what = `${status} ${body.code ?? `duplicate:${body.duplicate}`}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
};

/** What others asked for in the same domain goes back to its queue. */
const giveBack = async (racer: TestAgent, tasks: { message: { id: string } }[], mine: string): Promise<void> => {
  const foreign = tasks.filter(({ message }) => message.id !== mine);
  await Promise.all(
    foreign.map(({ message }) => racer.fail(message.id, { error: 'rate_limited', retryAfterSeconds: 0 })),
  );
};

/** Claims until somebody is seen to hold the task. */
const claimUntilHeld = async (tim: TestAgent, racer: TestAgent, id: string): Promise<string[]> => {
  for (;;) {
    const tasks = await racer.claim({ wait: 0.2 });
    await giveBack(racer, tasks, id);
    if (tasks.some(({ message }) => message.id === id)) return [racer.id];
    if ((await tim.task(id)).state !== 'requested') return [];
  }
};

describe('a race', () => {
  it(`for one task among ${RACERS} claiming agents has one winner`, async () => {
    const tim = await agent('tim');
    const racers = await several(RACERS);
    const waiting = racers.map((racer) => racer.claim({ wait: 1 }).then((tasks) => ({ racer, tasks })));
    const id = await tim.request({ priority: 'critical', payload: task });
    const early = await Promise.all(waiting);
    const winners = early.filter(({ tasks }) => tasks.some(({ message }) => message.id === id));
    const late = await Promise.all(racers.map((racer) => claimUntilHeld(tim, racer, id)));
    const all = [...winners.map(({ racer }) => racer.id), ...late.flat()];
    assert.equal(all.length, 1, `${all} all have it`);
    const { state, metadata, attempt } = await tim.task(id);
    assert.deepEqual({ state, agent: metadata.agent, attempt }, { state: 'claimed', agent: all[0], attempt: 1 });
    await Promise.all(early.map(({ racer, tasks }) => giveBack(racer, tasks, id)));
  });

  it(`for one task among ${RACERS} agents that announce task.claimed has one winner`, async () => {
    const tim = await agent('tim');
    const racers = await several(RACERS);
    const id = await tim.request({ payload: task });
    const replies = await Promise.all(racers.map((racer) => racer.claimed(id)));
    assert.deepEqual(counted(replies), { '202 duplicate:false': 1, '409 already_claimed': RACERS - 1 });
    const winner = racers[replies.findIndex(({ status }) => status === 202)];
    assert.equal((await tim.task(id)).metadata.agent, winner?.id);
    const finishes = await Promise.all(racers.map((racer) => racer.complete(id, { content: racer.id })));
    assert.equal(finishes.filter(({ status }) => status === 202).length, 1);
    assert.equal((await tim.task(id)).result.content, winner?.id);
  });

  it(`of one request with itself, ${TIMES} times at once, makes one task`, async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const message = taskRequest(tim.id, { to: galahad.id });
    const replies = await Promise.all(Array.from({ length: TIMES }, () => tim.send(message)));
    assert.deepEqual(counted(replies), { '202 duplicate:false': 1, '200 duplicate:true': TIMES - 1 });
    const claimed = await galahad.claim({ max: 10, wait: 10 });
    assert.deepEqual(
      claimed.map((each) => each.message.id),
      [message.id],
    );
    assert.deepEqual(await galahad.claim({ wait: 1 }), []);
  });

  it('of one request with other content under its id has one winner', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const first = taskRequest(tim.id, { to: galahad.id });
    const other = { ...first, payload: { ...first.payload, params: { scope: 'weekly' } } };
    const replies = await Promise.all([first, other, first, other].map((message) => tim.send(message)));
    assert.deepEqual(counted(replies), { '202 duplicate:false': 1, '200 duplicate:true': 1, '409 id_reused': 2 });
  });
});
