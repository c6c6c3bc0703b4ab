import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { connect, type Worker } from '../../sdk/typescript/src/index.ts';
import { type CallFate, startCallProxy } from '../support/call-proxy.ts';
import { isLong, isShort } from '../support/scale.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';
import { handleInSteps } from '../support/stepping/handle-in-steps.ts';
import { killed } from '../support/worker-example.ts';
import { deployment } from './deployment.ts';

const OWNER = { after };
const STEPPING = resolve(import.meta.dirname, '../support/stepping');
const LANGUAGES = {
  TypeScript: [process.execPath, join(STEPPING, 'worker.ts')],
  Python: ['python3', '-B', join(STEPPING, 'worker.py')],
};
/** Lives beside each other, so that none waits for the lease of another. */
const AT_ONCE = isShort ? 2 : 6;
const AFTER: CallFate = 'cut after';
const FATES: CallFate[] = ['cut before', AFTER];

const { address, agent } = await deployment();
const client = async (name: string, capabilities: string[]) =>
  connect({ url: address, key: (await agent(name, { dialect: 'native', capabilities })).key });

const dir = tempDir(OWNER);
const requester = await client('requester', []);

const runs = (worker: Worker): Worker => {
  worker.when('error', () => {});
  const done = worker.run({ signals: false });
  done.catch(() => {});
  atEndOf(OWNER, async () => {
    await worker.stop();
    await done.catch(() => {});
  });
  return worker;
};

const helper = `helper-${randomUUID()}`;
const helped = new Map<string, number>();
runs(
  (await client('helper', [helper])).worker({ concurrency: 10 }).on<number>(helper, ({ parent = '', input }) => {
    helped.set(parent, (helped.get(parent) ?? 0) + 1);
    return input * 2;
  }),
);

/** No line of the log says that a step runs which was kept before. */
const assertNoneRepeated = (log: string): void => {
  const kept = new Set<string>();
  for (const line of log.trim().split('\n')) {
    const [did = '', step = ''] = line.split(' ');
    if (did === 'kept') kept.add(step);
    else assert.ok(!kept.has(step), `${step} ran again:\n${log}`);
  }
};

/** A worker dies at this call of its life, and another one goes on. False if it made no such call. */
const isKilledAt = async (command: string[], fatal: number, fate: CallFate): Promise<boolean> => {
  const capability = `steps-${randomUUID()}`;
  const worker = await agent('worker', { dialect: 'native', capabilities: [capability] });
  const log = join(dir, capability);
  writeFileSync(log, '');
  let calls = 0;
  const died = Promise.withResolvers<void>();
  const proxy = await startCallProxy(address, {
    decide: () => {
      if (++calls !== fatal) return 'pass';
      killed(first).then(died.resolve);
      return fate;
    },
    onAnswer: (call, status) => {
      const [, step] = /^PUT .*\/steps\/(one|sum)$/.exec(call) ?? [];
      if (step && status === 200) appendFileSync(log, `kept ${step}\n`);
    },
  });
  const retry = { maxAttempts: 10, backoff: 'fixed', initial: 0 } as const;
  const handle = requester.request(capability, {}, { retry });
  await handle.accepted;
  const [program = '', ...args] = command;
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const first: ChildProcess = spawn(program, [...args, capability, helper, log], {
    env: { ...env, PARLEY_URL: proxy.endpoint, PARLEY_KEY: worker.key },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    const ended = handle.result({ onQuestion: () => 20 });
    await Promise.race([died.promise, ended]);
    const second = connect({ url: address, key: worker.key }).worker();
    runs(second.on(capability, (_, ctx) => handleInSteps(ctx, helper, (step) => appendFileSync(log, `run ${step}\n`))));
    assert.equal(await ended, 41);
    await second.stop();
  } finally {
    await killed(first);
    await proxy.close();
  }
  assertNoneRepeated(readFileSync(log, 'utf8'));
  assert.equal(helped.get(handle.id), 1);
  return calls >= fatal;
};

describe('a task of the SDK', () => {
  for (const [language, command] of Object.entries(LANGUAGES)) {
    const isWhole = language === 'TypeScript' && !isShort;
    it(`ends once and repeats no finished step, though its ${language} worker is killed at any call`, async () => {
      // A long run kills before and after each call; a short one takes turns.
      const every = isWhole ? 1 : 3;
      const lives = Array.from({ length: 60 / every }, (_, index) => ({ fatal: 1 + index * every })).flatMap(
        ({ fatal }, index) => (isLong ? FATES : [FATES[index % 2] ?? AFTER]).map((fate) => ({ fatal, fate })),
      );
      let died = 0;
      const live = async (): Promise<void> => {
        for (let next = lives.shift(); next; next = lives.shift()) {
          if (!(await isKilledAt(command, next.fatal, next.fate))) lives.length = 0;
          else died++;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, live));
      assert.ok(died * every >= 8, `${died} lives`);
    });
  }

  it('has told its requester one result for each, at the end of these tests', async () => {
    const seen = new Map<string, number>();
    for (;;) {
      const { messages } = await requester.call<{ messages: { id: string; kind: string; taskId: string }[] }>(
        'GET',
        '/v1/inbox',
        { query: { dialect: 'native', max: 50 } },
      );
      if (messages.length === 0) break;
      for (const { kind, taskId } of messages) {
        if (kind === 'result') seen.set(taskId, (seen.get(taskId) ?? 0) + 1);
      }
      await requester.call('POST', '/v1/inbox/ack', { body: { ids: messages.map(({ id }) => id) } });
    }
    assert.ok(seen.size > 0);
    assert.deepEqual(new Set(seen.values()), new Set([1]));
  });
});
