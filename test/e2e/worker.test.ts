import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type Fate, faultyProxy } from '../support/faulty-proxy.ts';
import { enqueued, groundAgent, taskEvents, turnOf } from '../support/ground.ts';
import { isShort } from '../support/scale.ts';
import { contentsOf, killed, startExample } from '../support/worker-example.ts';
import { deployment } from './deployment.ts';
import { type Said, turnStream } from './event-stream.ts';

const OWNER = { after };
const PATIENCE_MS = 60_000;
/** Lives beside each other, so that none waits for the answers of another. */
const AT_ONCE = 4;
/** Of how many of its calls it is killed at one. */
const KILLED_ONCE_IN = isShort ? 3 : 1;

const parley = await deployment();

const tool = { target_subject: 'cmd.tool.calculator.execute', parameters: { type: 'object' } };
assert.ok([200, 201].includes((await parley.admin.call('PUT', '/v1/tools/calculator', tool)).status));
startExample(
  OWNER,
  'tool-service',
  await groundAgent(parley, 'calculator', { capabilities: ['calculator'] }),
  parley.address,
);

const heard = async (key: string, turn: string): Promise<Said[]> => {
  const said: Said[] = [];
  for await (const one of turnStream(parley.address, key, turn)) said.push(one);
  return said;
};

/** It says in the turn's box how it thought, and what came out, and the end of the turn is told once. */
const delivers = async (turn: string, question: string, answer: number): Promise<void> => {
  const found = await eventually(async () => {
    const shown = await turnOf(parley.admin, turn);
    assert.equal(shown.status, 'success');
    return shown;
  }, PATIENCE_MS);
  assert.deepEqual(await contentsOf(parley.admin, found.output_box_id), [
    { type: 'agent.thought', text: `The calculator knows ${question}.` },
    { type: 'task.deliverable', text: `It is ${answer}.` },
  ]);
  await eventually(async () => assert.equal((await taskEvents(parley.admin, turn)).length, 1), PATIENCE_MS);
};

/** The call takes effect, its caller is killed and never learns it, and another one goes on; false if there was no such call. */
const killedAt = async (fatal: number): Promise<boolean> => {
  const mordred = await groundAgent(parley, `mordred-${fatal}`);
  let calls = 0;
  const proxy = await faultyProxy(parley.address, (call): Fate => {
    // Those that only look for work do not count.
    if (/lease$|head$/.test(call) || ++calls !== fatal) return 'pass';
    first.kill('SIGKILL');
    return 'lose the answer';
  });
  const first = startExample(OWNER, 'worker', mordred, proxy.endpoint);
  try {
    const turn = await enqueued(parley.admin, mordred.id, { payload: { question: `${fatal} + 1` } });
    const ended = heard(mordred.key, turn);
    await Promise.race([once(first, 'exit'), ended]);
    const second = startExample(OWNER, 'worker', mordred, parley.address);
    await ended;
    await delivers(turn, `${fatal} + 1`, fatal + 1);
    await Promise.all([killed(first), killed(second)]);
  } finally {
    // One that is open keeps a failed test from ending.
    await proxy.close();
  }
  return calls >= fatal;
};

describe('the worker of the example', () => {
  it('thinks, calls its tool, goes on with the result and delivers, and says in order what it does meanwhile', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const turn = await enqueued(parley.admin, merlin.id, { payload: { question: '6 * 7' } });
    const listening = heard(merlin.key, turn);
    startExample(OWNER, 'worker', merlin, parley.address);
    const said = await listening;
    const text = (step: string) => said.filter(({ step_id }) => step_id === step).map(({ content }) => content);
    assert.equal(text('think').join(''), 'I have to work out 6 * 7.');
    assert.equal(text('answer').join(''), 'It is 42.');
    assert.equal(said.at(-1)?.status, 'success');
    await delivers(turn, '6 * 7', 42);
  });

  it('delivers once, though it is killed at any of its calls and started again', async () => {
    let lives = 0;
    const untilThereIsNone = async (): Promise<void> => {
      while (await killedAt(1 + lives++ * KILLED_ONCE_IN));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, untilThereIsNone));
    assert.ok((lives - AT_ONCE) * KILLED_ONCE_IN >= 10, `${lives} lives`);
  });
});
