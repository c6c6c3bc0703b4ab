import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, taskEvents, turnOf } from '../support/ground.ts';
import { contentsOf, startExample } from '../support/worker-example.ts';
import { deployment } from './deployment.ts';
import { type Said, turnStream } from './event-stream.ts';

const OWNER = { after };
const PATIENCE_MS = 60_000;

const parley = await deployment();

const heard = async (key: string, turn: string): Promise<Said[]> => {
  const said: Said[] = [];
  for await (const one of turnStream(parley.address, key, turn)) said.push(one);
  return said;
};

describe('the worker of the example', () => {
  it('thinks, calls its tool, goes on with the result and delivers, and says in order what it does meanwhile', async () => {
    const tool = { target_subject: 'cmd.tool.calculator.execute', parameters: { type: 'object' } };
    assert.ok([200, 201].includes((await parley.admin.call('PUT', '/v1/tools/calculator', tool)).status));
    const calculator = await groundAgent(parley, 'calculator', { capabilities: ['calculator'] });
    const merlin = await groundAgent(parley, 'merlin');
    const turn = await enqueued(parley.admin, merlin.id, { payload: { question: '6 * 7' } });
    const listening = heard(merlin.key, turn);
    startExample(OWNER, 'tool-service', calculator, parley.address);
    startExample(OWNER, 'worker', merlin, parley.address);
    const said = await listening;
    const text = (step: string) => said.filter(({ step_id }) => step_id === step).map(({ content }) => content);
    assert.equal(text('think').join(''), 'I have to work out 6 * 7.');
    assert.equal(text('answer').join(''), 'It is 42.');
    assert.equal(said.at(-1)?.status, 'success');
    const found = await eventually(async () => {
      const shown = await turnOf(parley.admin, turn);
      assert.equal(shown.status, 'success');
      return shown;
    }, PATIENCE_MS);
    assert.deepEqual(await contentsOf(parley.admin, found.output_box_id), [
      { type: 'agent.thought', text: 'The calculator knows 6 * 7.' },
      { type: 'task.deliverable', text: 'It is 42.' },
    ]);
    await eventually(async () => assert.equal((await taskEvents(parley.admin, turn)).length, 1), PATIENCE_MS);
  });
});
