import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { DEFAULT_KEY } from '../../shared/identity/auth/api-key.ts';
import { authenticate } from '../../shared/identity/auth/authenticate.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { createApiKey, deleteApiKey, listApiKeys, rotateApiKey } from '../../shared/registration/manage-keys.ts';
import { deregisterAgent, Registration, registerAgent } from '../../shared/registration/register-agent.ts';
import { depsOn } from './domain-on-engine.ts';
import type { Open } from './engine-under-test.ts';

const REGISTRATION = Registration.parse({ dialect: 'round-table' });

/** A key holds the name of its project, which has 32 characters at most. */
const newProject = () => `p${randomUUID().slice(0, 8)}`;

const openProject = async (t: Parameters<Open>[0], open: Open) => {
  const [engine, project] = [await open(t), newProject()];
  const deps = depsOn(engine, { projects: { [project]: { domains: {}, relay: false } } });
  return { engine, project, deps };
};

const isValid = async (deps: Deps, key: string): Promise<boolean> => {
  try {
    await authenticate(deps, `Bearer ${key}`);
    return true;
  } catch (error) {
    assert.ok(Object(error).code === 'unauthorized', String(error));
    return false;
  }
};

export const keysContract = (name: string, open: Open): void => {
  describe(`keys on ${name}`, () => {
    it('of one agent are as many as it may have, however many are made at the same time', async (t) => {
      const { deps, project } = await openProject(t, open);
      const { key: first } = await registerAgent(deps, project, 'worker', REGISTRATION);
      const made = await Promise.allSettled(
        Array.from({ length: 14 }, (_, n) =>
          createApiKey(deps, project, { agent: 'worker', name: `k${n}`, scope: 'agent' }),
        ),
      );
      const keys = made.flatMap((one) => (one.status === 'fulfilled' ? one.value.key : []));
      const listed = await listApiKeys(deps, project, 'worker');
      assert.ok(listed.length <= 10, `${listed.length}`);
      assert.equal(listed.length, keys.length + 1);
      for (const key of [first ?? '', ...keys]) assert.ok(await isValid(deps, key));
    });

    it('of an agent all end with it, also one that is made while it is removed', async (t) => {
      const { deps, project } = await openProject(t, open);
      const { key: first = '' } = await registerAgent(deps, project, 'worker', REGISTRATION);
      const [made, removed] = await Promise.allSettled([
        createApiKey(deps, project, { agent: 'worker', name: 'more', scope: 'agent' }),
        deregisterAgent(deps, project, 'worker'),
      ]);
      if (removed.status === 'rejected') await deregisterAgent(deps, project, 'worker');
      assert.deepEqual(await listApiKeys(deps, project, 'worker'), []);
      await registerAgent(deps, project, 'worker', REGISTRATION, { inherit: true });
      deps.directory.invalidate(project, 'worker');
      for (const key of [first, made.status === 'fulfilled' ? made.value.key : first])
        assert.equal(await isValid(deps, key), false);
    });

    it('that are rotated at the same time with an overlap all stay valid until it is over', async (t) => {
      const { engine, deps, project } = await openProject(t, open);
      const { key: first = '' } = await registerAgent(deps, project, 'worker', REGISTRATION);
      const target = { agent: 'worker', name: DEFAULT_KEY };
      const rotated = await Promise.all([1, 2].map(() => rotateApiKey(deps, project, target, 600)));
      const keys = [first, ...rotated.map(({ key }) => key)];
      deps.directory.invalidate(project, 'worker');
      for (const key of keys) assert.ok(await isValid(deps, key));
      await engine.pass(700);
      const valid = await Promise.all(keys.map((key) => isValid(deps, key)));
      assert.deepEqual([valid[0], valid.filter(Boolean).length], [false, 1]);
    });

    it('of operators are found by their names, and are gone when they are removed or expire', async (t) => {
      const { engine, deps, project } = await openProject(t, open);
      const expires = engine.now() + 600;
      const console = await createApiKey(deps, project, { name: 'console', scope: 'read' });
      const guest = await createApiKey(deps, project, { name: 'guest', scope: 'operate', expires });
      await assert.rejects(createApiKey(deps, project, { name: 'console', scope: 'admin' }), { code: 'key_exists' });
      assert.ok((await isValid(deps, console.key)) && (await isValid(deps, guest.key)));
      await engine.pass(700);
      assert.deepEqual([await isValid(deps, console.key), await isValid(deps, guest.key)], [true, false]);
      assert.deepEqual(
        (await listApiKeys(deps, project)).map((key) => key.name),
        ['console'],
      );
      await deleteApiKey(deps, project, 'console');
      assert.equal(await isValid(deps, console.key), false);
    });
  });
};
