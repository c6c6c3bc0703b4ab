import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import { ADMIN_OWNER, hashKey, setAdminKey } from '../../shared/identity/auth/keys.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { assertRefused, settled } from '../http/refusal.ts';
import { type Caller, type Reply, TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const CONSUMERS = { watch: { project: 'default', channels: ['public'], types: ['task.requested'], agents: ['eve'] } };

interface Scene {
  parley: TestParley;
  eve: TestAgent;
  tim: TestAgent;
  worker: TestAgent;
}

const scene = async (t: { after(cleanUp: () => unknown): void }, dialect = 'round-table'): Promise<Scene> => {
  const parley = await testParley(t, { config: { consumers: CONSUMERS } });
  const eve = await parley.agent('eve', { dialect, capabilities: ['security.briefing'] });
  const [tim, worker] = [await parley.agent('tim', {}), await parley.agent('worker', {})];
  await settled(parley);
  return { parley, eve, tim, worker };
};

/** A call that waits, and what it waits for. */
interface Wait {
  dialect?: string;
  begin(scene: Scene): Promise<{ waiting: Promise<Reply>; come: () => Promise<unknown> }>;
  /** What came is still there for whoever has a valid key. */
  remains?(scene: Scene, eve: TestAgent): Promise<unknown>;
}

const WAITS: Record<string, Wait> = {
  'a claim': {
    begin: async ({ eve, tim }) => ({
      waiting: eve.call('POST', '/v1/claims', { wait: 10 }),
      come: () => tim.request({ to: 'eve' }),
    }),
    remains: async (_scene, eve) => assert.equal((await eve.claim()).length, 1),
  },
  'a claim of a domain': {
    begin: async ({ eve, tim }) => ({
      waiting: eve.call('POST', '/v1/claims', { wait: 10 }),
      come: () => tim.request(),
    }),
    remains: async (_scene, eve) => assert.equal((await eve.claim()).length, 1),
  },
  'a look into the inbox': {
    begin: async ({ eve, worker }) => {
      const id = await eve.request({ to: 'worker' });
      return { waiting: eve.call('GET', '/v1/inbox?wait=10'), come: () => worker.complete(id) };
    },
    remains: async (_scene, eve) => assert.equal((await eve.inbox()).length, 1),
  },
  'a look that takes from the inbox': {
    begin: async ({ eve, worker }) => {
      const id = await eve.request({ to: 'worker' });
      return { waiting: eve.call('GET', '/v1/inbox?wait=10&mode=take'), come: () => worker.complete(id) };
    },
    remains: async (_scene, eve) => assert.equal((await eve.inbox()).length, 1),
  },
  'a wait for a task': {
    begin: async ({ eve, worker }) => {
      const id = await eve.request({ to: 'worker' });
      return { waiting: eve.call('GET', `/v1/tasks/${id}?wait=10`), come: () => worker.complete(id) };
    },
  },
  'a request that waits for its outcome': {
    begin: async ({ eve, worker }) => {
      const request = taskRequest('eve', { to: 'worker' });
      return { waiting: eve.call('POST', '/v1/messages?wait=10', request), come: () => worker.complete(request.id) };
    },
  },
  'a wait for a batch': {
    begin: async ({ eve, worker }) => {
      const request = taskRequest('eve', { to: 'worker' });
      const made = await eve.call('POST', '/v1/batches', { batchId: 'b-1', tasks: [request] });
      assert.equal(made.status, 202, JSON.stringify(made.body));
      return { waiting: eve.call('GET', '/v1/batches/b-1?wait=10'), come: () => worker.complete(request.id) };
    },
  },
  'a look for events as a consumer': {
    begin: async ({ parley, eve, tim }) => {
      await parley.admin.call('POST', '/v1/consumers/watch/rewind', { to: 'end' });
      return {
        waiting: eve.call('POST', '/v1/consumers/watch/events', { wait: 10 }),
        come: () => tim.request({ to: 'worker' }),
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
    begin: async ({ parley, eve }) => {
      const arthur = await groundAgent(parley, 'arthur');
      return {
        waiting: eve.call('POST', '/v1/turns/lease', { agent_id: 'eve', wait: 10 }),
        come: () => enqueued(arthur, 'eve'),
      };
    },
    remains: async (_scene, eve) => assert.ok(await new Worker(eve).lease()),
  },
  'a lease of a task': {
    dialect: 'common-ground',
    begin: async ({ eve, tim }) => ({
      waiting: eve.call('POST', '/v1/turns/lease', { agent_id: 'eve', wait: 10 }),
      come: () => tim.request(),
    }),
    remains: async (_scene, eve) => assert.ok(await new Worker(eve).lease()),
  },
};

describe('a new key ends the calls that wait with the old one, and hands them nothing', () => {
  for (const [name, { dialect, begin, remains }] of Object.entries(WAITS)) {
    it(name, async (t) => {
      const on = await scene(t, dialect);
      const { waiting, come } = await begin(on);
      await settled(on.parley);
      const { body } = await on.parley.admin.call('POST', '/v1/agents/eve/key');
      await come();
      assertRefused(await waiting, 401, 'unauthorized');
      await remains?.(on, new TestAgent('eve', body.key, on.parley.transport));
    });
  }
});

describe('the removal of an agent ends the calls that wait with its key, and hands them nothing', () => {
  for (const [name, { dialect, begin }] of Object.entries(WAITS)) {
    it(name, async (t) => {
      const on = await scene(t, dialect);
      const { waiting } = await begin(on);
      await settled(on.parley);
      assert.equal((await on.parley.admin.call('DELETE', '/v1/agents/eve')).status, 204);
      assertRefused(await waiting, 401, 'unauthorized');
    });
  }

  it('and leaves the task to another who serves its domain', async (t) => {
    const { parley, eve, tim } = await scene(t);
    const other = await parley.agent('other');
    const waiting = eve.call('POST', '/v1/claims', { wait: 10 });
    await settled(parley);
    await parley.admin.call('DELETE', '/v1/agents/eve');
    const id = await tim.request();
    assertRefused(await waiting, 401, 'unauthorized');
    assert.equal((await other.claim())[0].message.id, id);
  });

  it('and gives nothing to an administrator who waits in its name', async (t) => {
    const { parley, tim } = await scene(t);
    const other = await parley.agent('other');
    const waiting = parley.admin.call('POST', '/v1/claims', { agent: 'eve', wait: 10 });
    await settled(parley);
    await parley.admin.call('DELETE', '/v1/agents/eve');
    const id = await tim.request();
    assert.deepEqual((await waiting).body.tasks, []);
    assert.equal((await other.claim())[0].message.id, id);
  });
});

describe('a claim whose key ends while it is written', () => {
  const ends = {
    'by a new key': (admin: Caller) => admin.call('POST', '/v1/agents/eve/key'),
    'with its agent': (admin: Caller) => admin.call('DELETE', '/v1/agents/eve'),
  };
  for (const [how, end] of Object.entries(ends)) {
    for (const asking of [{ wait: 0 }, { wait: 10 }, { wait: 10, claimId: 'c-1' }]) {
      it(`${how} is refused, and its task is another's at once: ${JSON.stringify(asking)}`, async (t) => {
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
        const [eve, other, tim] = [await agent('eve'), await agent('other'), await agent('tim', { capabilities: [] })];
        const id = await tim.request();
        let isEnded = false;
        onClaimed = () => {
          onClaimed = undefined;
          isEnded = true;
          return end(admin);
        };
        const reply = await eve.call('POST', '/v1/claims', asking);
        assert.ok(isEnded);
        assertRefused(reply, 401, 'unauthorized');
        await settled(parley);
        const [claimed] = await other.claim();
        assert.equal(claimed?.message.id, id);
      });
    }
  }
});

describe('where other processes may end a key', () => {
  it('a replaced key of an administrator is noticed within 5 s, and a valid one is not disturbed', async (t) => {
    const { parley, clock } = await testParley(t);
    const { records } = parley.deps;
    const directory = createDirectory(records, clock);
    const [first, second] = ['the-first-admin-key', 'the-second-admin-key'];
    await setAdminKey(records, 'default', first, 'token-1');
    const ended: string[] = [];
    const watch = (key: string) =>
      t.after(directory.watchKey('default', ADMIN_OWNER, hashKey(key), () => ended.push(key)));
    watch(first);
    await directory.getSystemRoleKey('default', 'admin');
    clock.advance(4000);
    await setAdminKey(records, 'default', second, 'token-2');
    watch(second);
    clock.advance(999);
    assert.deepEqual(ended, []);
    clock.advance(1);
    await eventually(() => assert.deepEqual(ended, [first]));
    for (let looks = 0; looks < 3; looks++) {
      clock.advance(5000);
      await directory.getSystemRoleKey('default', 'admin');
    }
    assert.deepEqual(ended, [first]);
  });
});

describe('a key that ends while the body of its call is on its way', () => {
  const LATE_MS = 600;

  for (const [what, method, path, query] of [
    ['sends nothing', 'POST', '/v1/messages', ''],
    ['reads nothing', 'GET', '/v1/inbox', ''],
    ['does not wait', 'GET', '/v1/inbox', 'wait=20'],
  ] as const) {
    it(`${what} any more`, async (t) => {
      const { parley, eve } = await scene(t);
      const { promise, resolve } = Promise.withResolvers<Uint8Array>();
      const call = parley.parley.handle({
        method,
        path,
        query,
        headers: { authorization: `Bearer ${eve.key}` },
        readBody: () => promise,
      });
      await parley.admin.call('POST', '/v1/agents/eve/key');
      await pause(LATE_MS);
      resolve(Buffer.from(method === 'POST' ? JSON.stringify(taskRequest('eve')) : ''));
      assert.equal((await call).status, 401);
    });
  }
});

describe('a key that ends in the moment in which something is taken for it', () => {
  it('is still handed what was taken, for nobody else would get it', async (t) => {
    let isEnding = false;
    const through = (ports: Ports): Ports => ({
      ...ports,
      records: {
        ...ports.records,
        update: async (ref, change, ...more) => {
          const written = await ports.records.update(ref, change, ...more);
          if (isEnding && change.unset?.includes('byList')) {
            isEnding = false;
            await parley.admin.call('POST', '/v1/agents/eve/key');
          }
          return written;
        },
      },
    });
    const parley = await testParley(t, { wrapPorts: through });
    const [eve, worker] = [await parley.agent('eve', {}), await parley.agent('worker', {})];
    const id = await eve.request({ to: 'worker' });
    await worker.claim();
    const taking = eve.call('GET', '/v1/inbox?wait=20&mode=take');
    isEnding = true;
    await worker.complete(id);
    const { status, body } = await taking;
    assert.deepEqual([status, body.messages.length], [200, 1]);
  });
});
