import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { connect } from '../../sdk/typescript/src/index.ts';
import { type CallFate, startCallProxy } from '../support/call-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, taskEvents } from '../support/ground.ts';
import { isLong, isShort } from '../support/scale.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';
import { handleTurnInSteps } from '../support/stepping/handle-turn-in-steps.ts';
import { killed } from '../support/worker-example.ts';
import { deployment } from './deployment.ts';

const OWNER = { after };
const WORKER = resolve(import.meta.dirname, '../support/stepping/turn-worker.ts');
const AT_ONCE = isShort ? 2 : 5;
/** Of how many of its calls it is killed at one. */
const KILLED_ONCE_IN = isLong ? 1 : isShort ? 5 : 3;
const PATIENCE_MS = 60_000;

const parley = await deployment();
const { address, admin } = parley;
const dir = tempDir(OWNER);
const tool = 'doubles';

const registration = { target_subject: `cmd.tool.${tool}.execute`, parameters: { type: 'object' } };
assert.ok([200, 201].includes((await admin.call('PUT', `/v1/tools/${tool}`, registration)).status));
const { key } = await parley.agent('tool', { dialect: 'native', capabilities: [tool] });
const toolWorker = connect({ url: address, key }).worker();
toolWorker.on<{ number: number }>('*', ({ input }) => ({ doubled: 2 * input.number }));
toolWorker.when('error', () => {});
const serving = toolWorker.run({ signals: false });
serving.catch(() => {});
atEndOf(OWNER, async () => {
  await toolWorker.stop();
  await serving.catch(() => {});
});

/** A worker dies at this call of its life, and another one goes on. False if it made no such call. */
const isKilledAt = async (fatal: number, fate: CallFate): Promise<boolean> => {
  const merlin = await groundAgent(parley, `merlin-${fatal}`);
  const log = join(dir, merlin.id);
  writeFileSync(log, '');
  const turn = await connect({ url: address, key: merlin.key }).callAgent<{ answer: number }>(merlin.id, {
    number: 20,
  });
  let calls = 0;
  const died = Promise.withResolvers<void>();
  const proxy = await startCallProxy(address, {
    decide: () => {
      if (++calls !== fatal) return 'pass';
      killed(first).then(died.resolve);
      return fate;
    },
  });
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const first = spawn(process.execPath, [WORKER, tool, log], {
    env: { ...env, PARLEY_URL: proxy.endpoint, PARLEY_KEY: merlin.key },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const tell = (step: string): void => appendFileSync(log, `${step}\n`);
  const second = connect({ url: address, key: merlin.key }).turns<{ number: number }>(
    (held, ctx) => handleTurnInSteps(held, ctx, tool, tell),
    { instance: 'one' },
  );
  second.when('error', () => {});
  let running: Promise<void> | undefined;
  try {
    const ended = turn.result();
    await Promise.race([died.promise, ended]);
    running = second.run({ signals: false });
    running.catch(() => {});
    assert.equal((await ended).answer, 41);
  } finally {
    await second.stop();
    await running?.catch(() => {});
    await killed(first);
    await proxy.close();
  }
  const ran = readFileSync(log, 'utf8').trim().split('\n');
  // One that died between the end of a step and its write repeats that step.
  assert.ok(ran.length <= 3 && new Set(ran).size === 2, ran.join());
  await eventually(async () => assert.equal((await taskEvents(admin, turn.id)).length, 1), PATIENCE_MS);
  return calls >= fatal;
};

describe('a turn of the SDK', () => {
  it('is delivered once, though its worker is killed at any call', async () => {
    let next = 1;
    let died = 0;
    const live = async (): Promise<void> => {
      for (;;) {
        const fatal = next;
        next += KILLED_ONCE_IN;
        if (!(await isKilledAt(fatal, died % 2 === 0 ? 'cut after' : 'cut before'))) return;
        died++;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, live));
    assert.ok(died * KILLED_ONCE_IN >= 10, `${died} lives`);
  });
});
