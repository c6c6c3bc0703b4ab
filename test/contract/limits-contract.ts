import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { dispatchChanges } from '../../shared/effects/dispatcher.ts';
import { onTimer } from '../../shared/effects/record-handlers.ts';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import type { TaskLimit } from '../../shared/identity/limit-rules.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { parseTrace } from '../../shared/kernel/trace.ts';
import { isAssigned, type Task, taskRef } from '../../shared/model/task.ts';
import { Registration, registerAgent } from '../../shared/registration/register-agent.ts';
import { applyReport } from '../../shared/tasks/commands/apply-report.ts';
import { claimTasks } from '../../shared/tasks/commands/claim-tasks.ts';
import { createTask } from '../../shared/tasks/commands/create-task.ts';
import { cancelTask } from '../../shared/tasks/commands/manage-task.ts';
import { eventually } from '../support/eventually.ts';
import { depsOn } from './domain-on-engine.ts';
import { type EngineUnderTest, type Open, token, unique } from './engine-under-test.ts';

const LEASE_MS = 300_000;
/** On AWS the index may be late, and what a claim left hidden comes back after 30 s. */
const PATIENCE_MS = 20_000;

interface World {
  engine: EngineUnderTest;
  deps: Deps;
  project: string;
  writes: { count: number };
}

const openWorld = async (t: TestContext, open: Open): Promise<World> => {
  const engine = await open(t);
  const project = unique('p');
  const writes = { count: 0 };
  const plain = depsOn(engine);
  const counted = countWrites(plain, writes);
  engine.follow({
    onChanges: (changes) => dispatchChanges(plain, changes),
    onTimer: (record) => (record.pk.startsWith(project) ? onTimer(plain, record) : Promise.resolve()),
  });
  for (const name of ['requester', 'worker', 'other'])
    await registerAgent(
      counted,
      project,
      name,
      Registration.parse({ dialect: 'native', capabilities: ['cook', 'bake'] }),
    );
  return { engine, deps: counted, project, writes };
};

const countWrites = (deps: Deps, writes: { count: number }): Deps => {
  const counted: Deps['records'] = Object.create(deps.records);
  const { create, update, transact } = deps.records;
  counted.create = (item, id) => {
    writes.count += 1;
    return create(item, id);
  };
  counted.update = (ref, change, id, orCreate) => {
    writes.count += 1;
    return update(ref, change, id, orCreate);
  };
  counted.transact = (sent, id) => {
    writes.count += sent.length;
    return transact(sent, id);
  };
  return { ...deps, records: counted };
};

/** With memory of its own. */
const asAnotherProcess = (deps: Deps): Deps => ({ ...deps, directory: createDirectory(deps.records, deps.clock) });

const request = async (
  { deps, project }: World,
  limits: TaskLimit[] | undefined,
  more: { capability?: string; parent?: string; from?: string } = {},
): Promise<string> => {
  const taskId = token();
  const { capability = 'cook', parent, from = 'requester' } = more;
  const command = {
    kind: 'request' as const,
    messageId: taskId,
    taskId,
    fingerprint: taskId,
    from,
    capability,
    parent,
    ...(parent !== undefined && { isSubtask: true as const }),
    priority: 'normal' as const,
    ttlSeconds: 86_400,
    input: {},
    extensions: {},
    limits,
  };
  await createTask(deps, { project, role: 'admin' }, 'native', command, parseTrace(undefined));
  return taskId;
};

const claim = async ({ deps, project }: World, by = 'worker', max = 10): Promise<string[]> => {
  const agent = await deps.directory.getAgent(project, by);
  assert.ok(agent);
  return (await claimTasks(deps, agent, { max, waitMs: 0 })).map(({ id }) => id);
};

const report = async (
  { deps, project }: World,
  taskId: string,
  kind: 'claim' | 'complete' | 'release',
  by = 'worker',
): Promise<unknown> => {
  const agent = await deps.directory.getAgent(project, by);
  assert.ok(agent);
  const about = { messageId: token(), fingerprint: token(), from: by, taskId };
  if (kind === 'complete') return applyReport(deps, agent, { ...about, kind, output: {}, extensions: {} });
  if (kind === 'claim') return applyReport(deps, agent, { ...about, kind, claimNote: {} });
  const error = { code: 'released', message: 'back', retryable: true };
  return applyReport(deps, agent, { ...about, kind: 'fail', release: true, error, extensions: {} });
};

const read = async ({ deps, project }: World, ids: string[]): Promise<Task[]> =>
  deps.records.getMany(ids.map((id) => taskRef(project, id)));

const refusedBy = (code: string) => (error: unknown) => error instanceof ParleyError && error.code === code;

/** Claims until so many were claimed. */
const claimOf = async (world: World, count: number, by = 'worker'): Promise<string[]> => {
  const claimed: string[] = [];
  await eventually(async () => {
    claimed.push(...(await claim(world, by)));
    assert.ok(claimed.length >= count, `claimed ${claimed.length} of ${count}`);
  }, PATIENCE_MS);
  return claimed;
};

export const limitsContract = (name: string, open: Open): void => {
  describe(`limits of keys on ${name}`, () => {
    it('let as many tasks of a key run as they say, and the next one as soon as one of them ends', async (t) => {
      const world = await openWorld(t, open);
      const limits = [{ key: 'oven', concurrency: 2 }];
      const ids: string[] = [];
      for (let at = 0; at < 5; at++) ids.push(await request(world, limits));
      const free = await request(world, undefined);
      const first = await claimOf(world, 3);
      assert.equal(first.length, 3);
      assert.ok(first.includes(free));
      const running = first.filter((id) => id !== free);
      assert.deepEqual(await claim(world), []);
      const [one = '', two = ''] = running;
      await report(world, one, 'complete');
      const [next = ''] = await claimOf(world, 1);
      assert.ok(ids.includes(next));
      assert.deepEqual(await claim(world), []);
      await report(world, two, 'release');
      await claimOf(world, 1);
      assert.equal((await read(world, ids)).filter(isAssigned).length, 2);
    });

    it('give the place of a worker that crashed to another task when its lease ends', async (t) => {
      const world = await openWorld(t, open);
      const limits = [{ key: 'oven', concurrency: 1 }];
      const ids = [await request(world, limits), await request(world, limits)];
      const [held = ''] = await claimOf(world, 1);
      assert.deepEqual(await claim(world, 'other'), []);
      await world.engine.pass(LEASE_MS + 1000);
      const [next = ''] = await claimOf(world, 1, 'other');
      assert.ok(ids.includes(next));
      assert.deepEqual(await claim(world, 'other'), []);
      // The crashed worker comes back, and has no place any more.
      if (next !== held) await assert.rejects(report(world, held, 'claim'), refusedBy('limit_reached'));
      await report(world, next, 'complete', 'other');
      await claimOf(world, 1, 'other');
    });

    it('never let more run than they say, where processes claim at the same moment', async (t) => {
      const world = await openWorld(t, open);
      const others = Array.from({ length: 5 }, (): World => ({ ...world, deps: asAnotherProcess(world.deps) }));
      const limits = [{ key: 'oven', concurrency: 2 }];
      const ids: string[] = [];
      for (let at = 0; at < 12; at++) ids.push(await request(world, limits));
      await Promise.all(others.map((one) => claim(one, 'worker', 2)));
      assert.ok((await read(world, ids)).filter(isAssigned).length <= 2);
      await claimOf(world, 2 - (await read(world, ids)).filter(isAssigned).length);
      assert.equal((await read(world, ids)).filter(isAssigned).length, 2);
    });

    it('never let more run than they say, whoever claims, crashes, releases or cancels at the same time', async (t) => {
      const moves = fc.array(
        fc.record({
          do: fc.constantFrom('claim', 'claim', 'message', 'complete', 'release', 'cancel', 'crash'),
          pick: fc.nat(50),
        }),
        { minLength: 8, maxLength: 16 },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 3 }),
          fc.array(moves, { minLength: 3, maxLength: 3 }),
          async (most, all) => {
            const world = await openWorld(t, open);
            const ids: string[] = [];
            for (let at = 0; at < 8; at++)
              ids.push(
                await request(world, [
                  { key: 'oven', concurrency: most },
                  ...(at % 3 === 0 ? [{ key: 'pan', concurrency: 1 }] : []),
                ]),
              );
            const assertWithin = async (): Promise<void> => {
              const running = (await read(world, ids)).filter(isAssigned);
              assert.ok(running.length <= most, `${running.length} of ${most} run`);
              assert.ok(running.filter(({ limits = [] }) => limits.length > 1).length <= 1);
            };
            const act = async (move: { do: string; pick: number }, by: string): Promise<void> => {
              const held = (await read(world, ids)).filter((task) => isAssigned(task) && task.holder === by);
              const one = held[move.pick % Math.max(1, held.length)];
              try {
                if (move.do === 'claim') await claim(world, by);
                if (move.do === 'message') await report(world, ids[move.pick % ids.length] ?? '', 'claim', by);
                if (move.do === 'cancel' && move.pick % 5 === 0)
                  await cancelTask(
                    world.deps,
                    { project: world.project, role: 'admin' },
                    ids[move.pick % ids.length] ?? '',
                  );
                if ((move.do === 'complete' || move.do === 'release') && one) await report(world, one.id, move.do, by);
                if (move.do === 'crash' && move.pick % 4 === 0) await world.engine.pass(LEASE_MS + 1000);
              } catch (error) {
                if (!(error instanceof ParleyError)) throw error;
              }
              await assertWithin();
            };
            await Promise.all(
              ['worker', 'other', 'requester'].map(async (by, at) => {
                for (const move of all[at] ?? []) await act(move, by);
              }),
            );
            // Nothing is stuck: all come to an end.
            await eventually(async () => {
              for (const by of ['worker', 'other', 'requester']) {
                await claim(world, by);
                for (const task of await read(world, ids))
                  if (isAssigned(task) && task.holder === by) await report(world, task.id, 'complete', by);
              }
              await assertWithin();
              const open = (await read(world, ids)).filter(({ endedAt }) => endedAt === undefined);
              if (open.length > 0) await world.engine.pass(40_000);
              assert.equal(open.length, 0, JSON.stringify(open.map(({ id, status }) => [id, status])));
            }, 60_000);
          },
        ),
        { numRuns: process.env.PARLEY_TESTS === 'long' ? 40 : name.includes('AWS') ? 1 : 4 },
      );
    });

    it('let as many start in any stretch of a window as they say, and the next one when there is room', async (t) => {
      const world = await openWorld(t, open);
      const limits = [{ key: 'api', rate: { starts: 2, seconds: 60 } }];
      for (let at = 0; at < 5; at++) await request(world, limits);
      const first = await claimOf(world, 2);
      for (const id of first) await report(world, id, 'complete');
      assert.deepEqual(await claim(world), []);
      await world.engine.pass(30_000);
      assert.deepEqual(await claim(world), []);
      await world.engine.pass(34_000);
      const second = await claimOf(world, 2);
      assert.equal(second.length, 2);
      for (const id of second) await report(world, id, 'complete');
      await world.engine.pass(64_000);
      await claimOf(world, 1);
    });

    it('cost one write for each start, and tasks without limits none', async (t) => {
      const world = await openWorld(t, open);
      const cycle = async (limits: TaskLimit[] | undefined): Promise<number> => {
        const before = world.writes.count;
        const id = await request(world, limits);
        assert.deepEqual(await claimOf(world, 1), [id]);
        await report(world, id, 'complete');
        return world.writes.count - before;
      };
      // Now and then a cycle notes besides that its agent is alive.
      const countFewest = async (limits?: TaskLimit[]): Promise<number> =>
        Math.min(await cycle(limits), await cycle(limits), await cycle(limits));
      const plain = await countFewest();
      assert.equal(await countFewest([{ key: 'oven', concurrency: 1 }]), plain + 1);
      assert.equal(await countFewest(), plain);
    });

    it('are lent by a task to one of its subtasks at a time, so that it never waits for itself', async (t) => {
      const world = await openWorld(t, open);
      const limits = [{ key: 'oven', concurrency: 1 }];
      const parent = await request(world, limits);
      assert.deepEqual(await claimOf(world, 1), [parent]);
      const children = [
        await request(world, limits, { parent, from: 'worker' }),
        await request(world, limits, { parent, from: 'worker' }),
      ];
      const [child = ''] = await claimOf(world, 1, 'other');
      assert.ok(children.includes(child));
      assert.deepEqual(await claim(world, 'other'), []);
      await report(world, child, 'complete', 'other');
      await claimOf(world, 1, 'other');
    });
  });
};
