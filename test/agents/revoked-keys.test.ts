import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import { ADMIN_OWNER, hashKey } from '../../shared/identity/auth/keys.ts';
import { setAdminKey } from '../../shared/identity/auth/set-operator-key.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { assertRefused, settled } from '../http/refusal.ts';
import { type Caller, type Reply, TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const CONSUMERS = {
  watch: { project: 'default', channels: ['public'], types: ['task.requested'], agents: ['caller'] },
};

interface Scene {
  parley: TestParley;
  caller: TestAgent;
  requester: TestAgent;
  worker: TestAgent;
}

const scene = async (t: { after(cleanUp: () => unknown): void }, dialect = 'round-table'): Promise<Scene> => {
  const parley = await testParley(t, { config: { consumers: CONSUMERS } });
  const caller = await parley.agent('caller', { dialect, capabilities: ['security.briefing'] });
  const [requester, worker] = [await parley.agent('requester', {}), await parley.agent('worker', {})];
  await settled(parley);
  return { parley, caller, requester, worker };
};

interface Wait {
  dialect?: string;
  begin(scene: Scene): Promise<{ waiting: Promise<Reply>; come: () => Promise<unknown> }>;
  /** The new key still gets what arrived. */
  remains?(scene: Scene, caller: TestAgent): Promise<unknown>;
}

const WAITS: Record<string, Wait> = {
  'a claim': {
    begin: async ({ caller, requester }) => ({
      waiting: caller.call('POST', '/v1/claims', { wait: 10 }),
      come: () => requester.request({ to: 'caller' }),
    }),
    remains: async (_scene, caller) => assert.equal((await caller.claim()).length, 1),
  },
  'a claim of a domain': {
    begin: async ({ caller, requester }) => ({
      waiting: caller.call('POST', '/v1/claims', { wait: 10 }),
      come: () => requester.request(),
    }),
    remains: async (_scene, caller) => assert.equal((await caller.claim()).length, 1),
  },
  'a look into the inbox': {
    begin: async ({ caller, worker }) => {
      const id = await caller.request({ to: 'worker' });
      return { waiting: caller.call('GET', '/v1/inbox?wait=10'), come: () => worker.complete(id) };
    },
    remains: async (_scene, caller) => assert.equal((await caller.inbox()).length, 1),
  },
  'a look that takes from the inbox': {
    begin: async ({ caller, worker }) => {
      const id = await caller.request({ to: 'worker' });
      return { waiting: caller.call('GET', '/v1/inbox?wait=10&mode=take'), come: () => worker.complete(id) };
    },
    remains: async (_scene, caller) => assert.equal((await caller.inbox()).length, 1),
  },
  'a wait for a task': {
    begin: async ({ caller, worker }) => {
      const id = await caller.request({ to: 'worker' });
      return { waiting: caller.call('GET', `/v1/tasks/${id}?wait=10`), come: () => worker.complete(id) };
    },
  },
  'a request that waits for its outcome': {
    begin: async ({ caller, worker }) => {
      const request = taskRequest('caller', { to: 'worker' });
      return { waiting: caller.call('POST', '/v1/messages?wait=10', request), come: () => worker.complete(request.id) };
    },
  },
  'a wait for a batch': {
    begin: async ({ caller, worker }) => {
      const request = taskRequest('caller', { to: 'worker' });
      const made = await caller.call('POST', '/v1/batches', { batchId: 'b-1', tasks: [request] });
      assert.equal(made.status, 202, JSON.stringify(made.body));
      return { waiting: caller.call('GET', '/v1/batches/b-1?wait=10'), come: () => worker.complete(request.id) };
    },
  },
  'a look for events as a consumer': {
    begin: async ({ parley, caller, requester }) => {
      await parley.admin.call('POST', '/v1/consumers/watch/rewind', { to: 'end' });
      return {
        waiting: caller.call('POST', '/v1/consumers/watch/events', { wait: 10 }),
        come: () => requester.request({ to: 'worker' }),
      };
    },
    remains: async ({ parley }) => {
      await settled(parley);
      const { body } = await parley.admin.call('POST', '/v1/consumers/watch/events', {});
      assert.equal(body.events.length, 1);
    },
  },
  'a lease': {
    dialect: 'common-ground',
    begin: async ({ parley, caller }) => {
      const coordinator = await groundAgent(parley, 'coordinator');
      return {
        waiting: caller.call('POST', '/v1/turns/lease', { agent_id: 'caller', wait: 10 }),
        come: () => enqueued(coordinator, 'caller'),
      };
    },
    remains: async (_scene, caller) => assert.ok(await new Worker(caller).lease()),
  },
  'a lease of a task': {
    dialect: 'common-ground',
    begin: async ({ caller, requester }) => ({
      waiting: caller.call('POST', '/v1/turns/lease', { agent_id: 'caller', wait: 10 }),
      come: () => requester.request(),
    }),
    remains: async (_scene, caller) => assert.ok(await new Worker(caller).lease()),
  },
};

describe('waiting calls after a key replacement', () => {
  for (const [name, { dialect, begin, remains }] of Object.entries(WAITS)) {
    it(`rejects ${name} once the key of its caller is replaced, and gives it nothing`, async (t) => {
      const on = await scene(t, dialect);
      const { waiting, come } = await begin(on);
      await settled(on.parley);
      const { body } = await on.parley.admin.call('POST', '/v1/agents/caller/key');
      await come();
      assertRefused(await waiting, 401, 'unauthorized');
      await remains?.(on, new TestAgent('caller', body.key, on.parley.transport));
    });
  }
});

describe('waiting calls after the removal of an agent', () => {
  for (const [name, { dialect, begin }] of Object.entries(WAITS)) {
    it(`rejects ${name} once its caller is removed, and gives it nothing`, async (t) => {
      const on = await scene(t, dialect);
      const { waiting } = await begin(on);
      await settled(on.parley);
      assert.equal((await on.parley.admin.call('DELETE', '/v1/agents/caller')).status, 204);
      assertRefused(await waiting, 401, 'unauthorized');
    });
  }

  it('leaves the task of a removed agent to another provider of its domain', async (t) => {
    const { parley, caller, requester } = await scene(t);
    const other = await parley.agent('other');
    const waiting = caller.call('POST', '/v1/claims', { wait: 10 });
    await settled(parley);
    await parley.admin.call('DELETE', '/v1/agents/caller');
    const id = await requester.request();
    assertRefused(await waiting, 401, 'unauthorized');
    assert.equal((await other.claim())[0].message.id, id);
  });

  it('gives nothing to an administrator who waits in the name of a removed agent', async (t) => {
    const { parley, requester } = await scene(t);
    const other = await parley.agent('other');
    const waiting = parley.admin.call('POST', '/v1/claims', { agent: 'caller', wait: 10 });
    await settled(parley);
    await parley.admin.call('DELETE', '/v1/agents/caller');
    const id = await requester.request();
    assert.deepEqual((await waiting).body.tasks, []);
    assert.equal((await other.claim())[0].message.id, id);
  });
});

describe('claim during a key revocation', () => {
  const ends = {
    'by a new key': (admin: Caller) => admin.call('POST', '/v1/agents/caller/key'),
    'with its agent': (admin: Caller) => admin.call('DELETE', '/v1/agents/caller'),
  };
  for (const [how, end] of Object.entries(ends)) {
    for (const asking of [{ wait: 0 }, { wait: 10 }, { wait: 10, claimId: 'c-1' }]) {
      it(`rejects a claim whose key ends ${how} while it is written, and frees its task: ${JSON.stringify(asking)}`, async (t) => {
        let onClaimed: (() => Promise<unknown>) | undefined;
        const through = (ports: Ports): Ports => ({
          ...ports,
          records: {
            ...ports.records,
            update: async (ref, change, ...more) => {
              const written = await ports.records.update(ref, change, ...more);
              if (change.set && 'status' in change.set && change.set.status === 'claimed') await onClaimed?.();
              return written;
            },
          },
        });
        const parley = await testParley(t, { wrapPorts: through });
        const { admin, agent } = parley;
        const [caller, other, requester] = [
          await agent('caller'),
          await agent('other'),
          await agent('requester', { capabilities: [] }),
        ];
        const id = await requester.request();
        let isEnded = false;
        onClaimed = () => {
          onClaimed = undefined;
          isEnded = true;
          return end(admin);
        };
        const reply = await caller.call('POST', '/v1/claims', asking);
        assert.ok(isEnded);
        assertRefused(reply, 401, 'unauthorized');
        await settled(parley);
        const [claimed] = await other.claim();
        assert.equal(claimed?.message.id, id);
      });
    }
  }
});

describe('key revocation by another process', () => {
  it('ends a replaced administrator key within 5 s and keeps a valid one', async (t) => {
    const { parley, clock } = await testParley(t);
    const { records } = parley.deps;
    const directory = createDirectory(records, clock);
    const [first, second] = ['the-first-admin-key', 'the-second-admin-key'];
    await setAdminKey(records, 'default', first, 'token-1');
    const ended: string[] = [];
    const watch = (key: string) =>
      t.after(directory.watchKey('default', ADMIN_OWNER, hashKey(key), () => ended.push(key)));
    watch(first);
    await directory.listKeys('default', ADMIN_OWNER);
    clock.advance(4000);
    await setAdminKey(records, 'default', second, 'token-2');
    clock.advance(999);
    assert.deepEqual(ended, []);
    clock.advance(1);
    await eventually(() => assert.deepEqual(ended, [first]));
    watch(second);
    for (let looks = 0; looks < 3; looks++) {
      clock.advance(5000);
      await directory.listKeys('default', ADMIN_OWNER);
    }
    assert.deepEqual(ended, [first]);
  });
});

describe('key revocation while a request body arrives', () => {
  const LATE_MS = 600;

  for (const [what, method, path, query] of [
    ['sends nothing', 'POST', '/v1/messages', ''],
    ['reads nothing', 'GET', '/v1/inbox', ''],
    ['does not wait', 'GET', '/v1/inbox', 'wait=20'],
  ] as const) {
    it(`${what} with a key that ends while the body of the call arrives`, async (t) => {
      const { parley, caller } = await scene(t);
      const { promise, resolve } = Promise.withResolvers<Uint8Array>();
      const call = parley.parley.handle({
        method,
        path,
        query,
        headers: { authorization: `Bearer ${caller.key}` },
        readBody: () => promise,
      });
      await parley.admin.call('POST', '/v1/agents/caller/key');
      await pause(LATE_MS);
      resolve(Buffer.from(method === 'POST' ? JSON.stringify(taskRequest('caller')) : ''));
      assert.equal((await call).status, 401);
    });
  }
});

describe('key revocation during a take from the inbox', () => {
  it('delivers a taken message although the key of its reader ends, because nobody else would get it', async (t) => {
    let isEnding = false;
    const through = (ports: Ports): Ports => ({
      ...ports,
      records: {
        ...ports.records,
        update: async (ref, change, ...more) => {
          const written = await ports.records.update(ref, change, ...more);
          if (isEnding && change.unset?.includes('byList')) {
            isEnding = false;
            await parley.admin.call('POST', '/v1/agents/caller/key');
          }
          return written;
        },
      },
    });
    const parley = await testParley(t, { wrapPorts: through });
    const [caller, worker] = [await parley.agent('caller', {}), await parley.agent('worker', {})];
    const id = await caller.request({ to: 'worker' });
    await worker.claim();
    const taking = caller.call('GET', '/v1/inbox?wait=20&mode=take');
    isEnding = true;
    await worker.complete(id);
    const { status, body } = await taking;
    assert.deepEqual([status, body.messages.length], [200, 1]);
  });
});
