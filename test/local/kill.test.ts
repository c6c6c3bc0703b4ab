import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { tempDir } from '../support/server-process.ts';
import { testParley } from '../support/test-parley.ts';
import { type Finished, Requester, Worker } from './persistent-agents.ts';
import { RestartableServer } from './restartable-server.ts';

const LIVES = 300;
const KILLS = 8;
/** From one kill to the next, and from the last one to the end: a hundred times what it takes on an idle machine. */
const PATIENCE_MS = 30_000;
const REQUESTERS = ['arthur', 'guinevere', 'merlin'];
const WORKERS = ['galahad', 'lancelot', 'percival', 'gawain', 'bors'];

/** Mulberry32: the same seed gives the same numbers. */
const randomFrom = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

/** What is lost is waited for in vain. */
const soon = async (what: string, outcome: Promise<unknown>): Promise<void> => {
  const settled = new AbortController();
  const tooLate = pause(PATIENCE_MS, undefined, { signal: settled.signal }).then(() =>
    assert.fail(`${what}: not reached`),
  );
  await Promise.race([outcome, tooLate]).finally(() => settled.abort());
};

describe('a process that is killed again and again', () => {
  it('brings every request that it accepted to exactly one result', { timeout: 180_000 }, async (t) => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    t.diagnostic(`SEED=${seed}`);
    const random = randomFrom(seed);
    const server = await RestartableServer.start(t, tempDir(t));
    const finished: Finished = new Map();
    const requesters = await Promise.all(REQUESTERS.map(async (id) => new Requester(server, await server.agent(id))));
    const workers = await Promise.all(WORKERS.map(async (id) => new Worker(server, await server.agent(id), finished)));

    const work = workers.map((worker) => worker.workUntil(() => finished.size === LIVES));
    const requests = requesters.map((requester) => requester.request(LIVES / REQUESTERS.length, random));
    const outcomes = requesters.map((requester) => requester.readInbox(LIVES / REQUESTERS.length));
    // Each life is two answers that matter, to the request and to the result: the kills fall on all of them.
    for (let kill = 1; kill <= KILLS; kill++) {
      await soon(`kill ${kill}`, server.answers((2 * LIVES * (kill - random())) / (KILLS + 1)));
      await pause(random() * 10);
      await server.killAndRestart();
    }
    await soon('every request sent', Promise.all(requests));
    await soon('every task finished', Promise.all(work));
    await soon('every outcome in an inbox', Promise.all(outcomes));

    const accepted = requesters.flatMap((requester) => requester.accepted);
    assert.equal(new Set(accepted).size, LIVES);
    for (const requester of requesters) {
      for (const id of requester.accepted) {
        const { state, result, attempt } = await requester.agent.task(id);
        assert.deepEqual(
          { id, state, result, attempt },
          { id, state: 'completed', result: finished.get(id), attempt: 1 },
        );
        assert.deepEqual(requester.outcomes.get(id), [finished.get(id)]);
      }
      assert.deepEqual(await requester.agent.inbox(), []);
    }
    const completions = await server.eventIdsByTask('task.completed');
    assert.deepEqual(new Set(completions.keys()), new Set(accepted));
    for (const [id, events] of completions) assert.equal(events.size, 1, `${id} was completed as ${[...events]}`);
  });

  it('gives the same tasks to the same claim when it died in the middle of it', async (t) => {
    let isDying = true;
    const { agent, clock, restart } = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: (ref, ...rest) =>
            isDying && ref.sk === 'claim' ? Promise.reject(new Error('killed')) : ports.records.update(ref, ...rest),
        },
      }),
    });
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const claim = { claimId: randomUUID() };
    assert.equal((await galahad.call('POST', '/v1/claims', claim)).status, 500);
    isDying = false;
    await restart();
    // The claim may count as still running for half a minute.
    clock.advance(31_000);
    assert.deepEqual(
      (await galahad.claim(claim)).map(({ message, attempt }) => [message.id, attempt]),
      [[id, 1]],
    );
  });
});
