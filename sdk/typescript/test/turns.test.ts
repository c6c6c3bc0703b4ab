import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { connect, type ForkResult, type Parley, TaskFailed, type TurnWorker } from '../src/index.ts';
import { address, admin, adminKey, agent, run } from './agents.ts';

const ground = async (capabilities: string[] = []): Promise<Parley & { id: string }> => {
  const { id, key } = await agent('turns', { dialect: 'common-ground', capabilities });
  return Object.assign(connect({ url: address, key }), { id });
};

const start = <Payload>(worker: TurnWorker<Payload>): TurnWorker<Payload> => {
  const done = worker.run({ signals: false });
  done.catch(() => {});
  after(async () => {
    await worker.stop();
    await done.catch(() => {});
  });
  return worker;
};

const startTool = async (): Promise<string> => {
  const tool = `tool-${crypto.randomUUID().slice(0, 8)}`;
  const { key } = await agent('tool', { dialect: 'native', capabilities: [tool] });
  const registration = { target_subject: `cmd.tool.${tool}.execute`, parameters: { type: 'object' } };
  assert.ok([200, 201].includes((await admin.call('PUT', `/v1/tools/${tool}`, registration)).status));
  const worker = connect({ url: address, key }).worker();
  run(worker.on<{ a: number }>('*', ({ input }) => ({ doubled: 2 * input.a })));
  return tool;
};

describe('a turn of the SDK', () => {
  it('streams, suspends for its tools one after the other, repeats no finished step, and is delivered once', async () => {
    const tool = await startTool();
    const merlin = await ground();
    const ran: string[] = [];
    start(
      merlin.turns<{ question: number }>(async (turn, ctx) => {
        const first = await ctx.step('think', () => {
          ran.push('think');
          return turn.payload.question;
        });
        const { doubled } = await ctx.tool<{ doubled: number }>(tool, { a: first });
        const again = await ctx.step('think', () => {
          ran.push('think again');
          return doubled;
        });
        const last = await ctx.tool<{ doubled: number }>(tool, { a: again });
        await ctx.say('It is ');
        await ctx.say(String(last.doubled));
        return { answer: last.doubled };
      }),
    );
    const caller = await ground();
    const turn = await caller.callAgent<{ answer: number }>(merlin.id, { question: 10 });
    const said: string[] = [];
    for await (const { content } of turn.stream()) said.push(content);
    assert.equal((await turn.result()).answer, 40);
    assert.equal(said.join(''), 'It is 40');
    assert.deepEqual(ran, ['think', 'think again']);
  });

  it('calls several tools beside each other', async () => {
    const tool = await startTool();
    const merlin = await ground();
    start(
      merlin.turns(async (_, ctx) => {
        const results = await ctx.tools([1, 2, 3].map((a) => ({ target: tool, args: { a } })));
        return { results };
      }),
    );
    const turn = await (await ground()).callAgent<{ results: { doubled: number }[] }>(merlin.id, {});
    assert.deepEqual(
      (await turn.result()).results.map(({ doubled }) => doubled),
      [2, 4, 6],
    );
  });

  it('forks to other agents, and goes on once with what each of them delivered, or why it did not', async () => {
    const [careful, hasty] = [await ground(), await ground()];
    start(careful.turns<{ instruction: string }>(({ payload }) => ({ summary: `${payload.instruction} Done.` })));
    start(
      hasty.turns(() => {
        throw new Error('Too fast.');
      }),
    );
    const lead = await ground();
    const planned: number[] = [];
    start(
      lead.turns(async (_, ctx) => {
        await ctx.step('plan', () => planned.push(1));
        const results = await ctx.fork<{ summary: string }>([
          { agent: careful.id, instruction: 'Look north.' },
          { agent: hasty.id, instruction: 'Look south.' },
        ]);
        return { results };
      }),
    );
    const turn = await (await ground()).callAgent<{ results: ForkResult<{ summary: string }>[] }>(lead.id, {});
    const { results } = await turn.result();
    assert.deepEqual(
      results.map(({ agent: who, status, output, error }) => [who, status, output?.summary ?? error]),
      [
        [careful.id, 'success', 'Look north. Done.'],
        [hasty.id, 'failed', 'Too fast.'],
      ],
    );
    assert.deepEqual(planned, [1]);
  });

  it('is told to consumers of events, each event until it is acknowledged', async () => {
    const merlin = await ground();
    start(merlin.turns(() => ({ text: 'done' })));
    const turn = await (await ground()).callAgent(merlin.id, {});
    await turn.result();
    const observer = connect({ url: address, key: adminKey });
    for await (const { type, data } of observer.consume('observer')) {
      if (type === 'evt.agent.task' && JSON.stringify(data).includes(turn.id)) break;
    }
  });

  it('whose handler throws ends as failed, with its reason', async () => {
    const merlin = await ground();
    start(
      merlin.turns(() => {
        throw new Error('No magic left.');
      }),
    );
    const turn = await (await ground()).callAgent(merlin.id, {});
    await assert.rejects(turn.result(), (error) => error instanceof TaskFailed && /No magic left/.test(error.message));
  });

  it('that is stopped aborts its handler', async () => {
    const merlin = await ground();
    const aborted = Promise.withResolvers<string>();
    start(
      merlin.turns(async (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve(signal.reason.reason));
        await new Promise(() => {});
      }),
    );
    const turn = await (await ground()).callAgent(merlin.id, {});
    const { turn_epoch } = await eventually(async () => {
      const view = await turn.status();
      assert.equal(view.status, 'running');
      return view;
    });
    const stopped = await admin.call('POST', `/v1/turns/${turn.id}/stop`, { turn_epoch });
    assert.equal(stopped.status, 200, JSON.stringify(stopped.body));
    assert.equal(await aborted.promise, 'lost');
  });
});
