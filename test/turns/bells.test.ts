import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { settled } from '../http/refusal.ts';
import { enqueued, groundAgent, reports, taskEvents, turnOf, Worker } from '../support/ground.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const AGENTS = ['merlin', 'morgana'];
const TURNS_EACH = 3;
const ROUND_MS = 5000;
/** Long enough for the rarest bell, many times over. */
const MOST_ROUNDS = 600;

/** What becomes of the bells of a moment on their way to those that they are for. */
type Fate = (bells: string[], random: Random) => string[];

const shuffled: Fate = (bells, random) =>
  bells
    .map((bell) => ({ bell, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ bell }) => bell);

const FATES: Record<string, Fate> = {
  'come as they were rung': (bells) => bells,
  'are lost, three in four': (bells, random) => bells.filter(() => random() < 0.25),
  'come twice and three times': (bells) => bells.flatMap((bell) => [bell, bell, bell]),
  'come in any order, to the wrong agents too': (bells, random) => shuffled([...bells, ...AGENTS], random),
  'are lost, doubled and in any order': (bells, random) =>
    shuffled(
      bells.flatMap((bell) => (random() < 0.6 ? [] : [bell, bell])),
      random,
    ),
};

/** Whom the log's bells are for since the last look. */
const listener = ({ admin }: TestParley) => {
  let after = '';
  return async (): Promise<string[]> => {
    const { body } = await admin.call('GET', `/v1/events?type=cmd.agent.wakeup&limit=500${after}`);
    after = `&after=${body.cursor}`;
    return body.events.map(({ data }: { data: { to: string } }) => data.to);
  };
};

/** A worker does nothing of itself: it looks for work when its bell rings, and at no other time. */
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

/** How each turn ended, in the order of the calls, and how often that was told. */
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

describe('whatever becomes of bells, every turn is delivered in its order, once', () => {
  for (const [name, fate] of Object.entries(FATES)) {
    it(`where they ${name}`, async (t) => {
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
});
