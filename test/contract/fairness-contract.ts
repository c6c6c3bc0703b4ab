import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import config from '../../parley.config.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { parseTrace } from '../../shared/kernel/trace.ts';
import { Registration, registerAgent } from '../../shared/registration/register-agent.ts';
import { claimTasks } from '../../shared/tasks/commands/claim-tasks.ts';
import { createTask } from '../../shared/tasks/commands/create-task.ts';
import { eventually } from '../support/eventually.ts';
import { depsOn } from './domain-on-engine.ts';
import { type Open, token } from './engine-under-test.ts';

const MANY = 120;
/** Claims that give another requester its turn. */
const FEW = 4;

const openDeps = async (t: TestContext, open: Open) => {
  const engine = await open(t);
  const project = `p${token().slice(0, 8)}`;
  const domains = { home: { description: 'Home', transport: 'http' as const } };
  const deps = depsOn(engine, { projects: { ...config.projects, [project]: { domains, relay: false } } });
  for (const name of ['noisy', 'quiet'])
    await registerAgent(deps, project, name, Registration.parse({ dialect: 'native' }));
  return { deps, project };
};

type World = Awaited<ReturnType<typeof openDeps>>;

const request = async ({ deps, project }: World, from: string, route: object): Promise<string> => {
  const taskId = token();
  const command = {
    kind: 'request' as const,
    messageId: taskId,
    taskId,
    fingerprint: taskId,
    from,
    capability: 'home.dinner',
    priority: 'normal' as const,
    ttlSeconds: 3600,
    input: {},
    extensions: {},
    ...route,
  };
  await createTask(deps, { project, role: 'admin' }, 'native', command, parseTrace(undefined));
  return taskId;
};

const claimOne = async ({ deps, project }: { deps: Deps; project: string }): Promise<string> => {
  const worker = await deps.directory.getAgent(project, 'worker');
  assert.ok(worker);
  return eventually(async () => {
    const [task] = await claimTasks(deps, worker, { max: 1, waitMs: 0 });
    return task?.id ?? assert.fail('nothing to claim');
  }, 20_000);
};

/** No requester starves another. */
export const fairnessContract = (name: string, open: Open): void => {
  describe(`a queue that requesters share, on ${name}`, () => {
    for (const [queue, registration, route] of [
      ['of a domain', { domains: ['home'] }, {}],
      ['of a capability', { capabilities: ['home.dinner'] }, {}],
      ['of an agent', {}, { to: 'worker' }],
    ] as const) {
      it(`${queue} gives the one task of a requester among the next few, where many of another wait`, async (t) => {
        const world = await openDeps(t, open);
        const parsed = Registration.parse({ dialect: 'native', ...registration });
        await registerAgent(world.deps, world.project, 'worker', parsed);
        const noisy: string[] = [];
        for (let at = 0; at < MANY; at += 10)
          noisy.push(...(await Promise.all(Array.from({ length: 10 }, () => request(world, 'noisy', route)))));
        const quiet = [await request(world, 'quiet', route), await request(world, 'quiet', route)];
        const claimed: string[] = [];
        // What was there before the process could know that it is too much.
        const allowed = world.deps.queues.assignTurn ? FEW + 25 : FEW;
        while (!quiet.every((id) => claimed.includes(id))) {
          claimed.push(await claimOne(world));
          assert.ok(claimed.length <= allowed, `${claimed.length} claims, and none of the other requester`);
        }
        assert.ok(noisy.includes(await claimOne(world)), 'the other goes on');
      });
    }
  });
};
