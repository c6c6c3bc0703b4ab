import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { enqueued, groundAgent, reports, taskEvents, turnOf, Worker } from '../support/ground.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const AGENTS = ['worker', 'other-worker'];
const TURNS_EACH = 3;
const ROUND_MS = 5000;
/** Many times the longest pause between two wake-ups. */
const MOST_ROUNDS = 600;

type Fate = (bells: string[], random: Random) => string[];

const shuffled: Fate = (bells, random) =>
  bells
    .map((bell) => ({ bell, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ bell }) => bell);

const FATES: Record<string, Fate> = {
  'arrive as they were sent': (bells) => bells,
  'are lost, three in four': (bells, random) => bells.filter(() => random() < 0.25),
  'arrive three times': (bells) => bells.flatMap((bell) => [bell, bell, bell]),
  'arrive in any order and at the wrong agents too': (bells, random) => shuffled([...bells, ...AGENTS], random),
  'are lost, doubled and in any order': (bells, random) =>
    shuffled(
      bells.flatMap((bell) => (random() < 0.6 ? [] : [bell, bell])),
      random,
    ),
};

const listener = ({ admin }: TestParley) => {
  let after = '';
  return async (): Promise<string[]> => {
    const { body } = await admin.call('GET', `/v1/events?type=cmd.agent.wakeup&limit=500${after}`);
    after = `&after=${body.cursor}`;
    return body.events.map(({ data }: { data: { to: string } }) => data.to);
  };
};

/** A worker leases only when it gets a wake-up. */
const answerBell = async (worker: Worker, parley: TestParley): Promise<void> => {
  const held = await worker.lease();
  if (!held) return;
  if (held.inbox[0].message_type !== 'turn') {
    await worker.deliver(held, { turn: held.agent_turn_id });
    return;
  }
  await worker.ok(held, 'start');
  await worker.suspend(held, ['c1']);
  await reports(parley.admin, worker.agent.id, held, 'c1');
};

const outcomes = async (t: TestContext, fate: Fate) => {
  const parley = await testParley(t);
  const random = seeded(7);
  const workers = new Map<string, Worker>();
  for (const id of AGENTS) workers.set(id, new Worker(await groundAgent(parley, id)));
  const turns: string[] = [];
  for (let n = 0; n < TURNS_EACH; n++)
    for (const id of AGENTS) {
      turns.push(await enqueued(parley.admin, id));
      parley.clock.advance(1);
    }
  const rung = listener(parley);
  const isOpen = async () => {
    const shown = await Promise.all(turns.map((id) => turnOf(parley.admin, id)));
    return shown.some(({ status }) => !['success', 'failed', 'canceled'].includes(status));
  };
  for (let rounds = 0; await isOpen(); rounds++) {
    assert.ok(rounds < MOST_ROUNDS, 'a turn waits for a bell that is never rung again');
    for (const id of fate(await rung(), random)) {
      const worker = workers.get(id);
      if (worker) await answerBell(worker, parley);
    }
    parley.clock.advance(ROUND_MS);
    await settled(parley);
  }
  const ends = [];
  for (const id of turns) {
    const { status, turn_epoch } = await turnOf(parley.admin, id);
    ends.push({ status, turn_epoch, told: (await taskEvents(parley.admin, id)).length });
  }
  return ends;
};

describe('wake-ups', () => {
  for (const [name, fate] of Object.entries(FATES)) {
    it(`delivers every turn once and in order when wake-ups ${name}`, async (t) => {
      const expected = Array.from({ length: TURNS_EACH }, (_, n) => ({
        status: 'success',
        turn_epoch: n + 1,
        told: 1,
      }));
      assert.deepEqual(
        await outcomes(t, fate),
        expected.flatMap((end) => AGENTS.map(() => end)),
      );
    });
  }

  it('go to no workers that a subject cannot name: their registration is rejected', async (t) => {
    const parley = await testParley(t);
    for (const workerTarget of ['two words', 'a.b', '*', '', 'x'.repeat(129)]) {
      const registration = { dialect: 'common-ground', workerTarget };
      const reply = await parley.admin.call('PUT', '/v1/agents/merlin', registration);
      assertRefused(reply, 400, 'invalid_request');
    }
  });
});
