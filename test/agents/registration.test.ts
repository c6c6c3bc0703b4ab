import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { TestAgent, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const dialect = 'round-table';

const refused: [what: string, id: string, body: unknown, code: ParleyErrorCode, paths: string[]][] = [
  ['no body', 'worker', '', 'invalid_request', ['']],
  ['no dialect', 'worker', {}, 'invalid_request', ['dialect']],
  ['an unknown dialect', 'worker', { dialect: 'latin' }, 'invalid_request', ['dialect']],
  [
    'capabilities that are a text',
    'worker',
    { dialect, capabilities: 'security.x' },
    'invalid_request',
    ['capabilities'],
  ],
  [
    'a capability that is a number',
    'worker',
    { dialect, capabilities: ['a', 5] },
    'invalid_request',
    ['capabilities[1]'],
  ],
  [
    'too many capabilities',
    'worker',
    { dialect, capabilities: Array(257).fill('a') },
    'invalid_request',
    ['capabilities'],
  ],
  ['an unknown field', 'worker', { dialect, colour: 'red' }, 'invalid_request', ['colour']],
  ['an unknown transport', 'worker', { dialect, transport: 'pigeon' }, 'invalid_request', ['transport']],
  [
    'several mistakes',
    'worker',
    { transport: 5, limits: [], versions: [''] },
    'invalid_request',
    ['dialect', 'transport', 'versions[0]', 'limits'],
  ],
  ['a capability of an unknown domain', 'worker', { dialect, capabilities: ['alchemy.gold'] }, 'unknown_domain', []],
  ['an unknown domain', 'worker', { dialect, domains: ['alchemy'] }, 'unknown_domain', []],
  ['an id with a capital', 'Worker', { dialect }, 'invalid_request', []],
  ['an id with a dot', 'sir.worker', { dialect }, 'invalid_request', []],
  ['an id with a line break', 'worker%0a', { dialect }, 'invalid_request', []],
  ['an id that is too long', 'k'.repeat(65), { dialect }, 'invalid_request', []],
  [
    'a public key that cannot be read',
    'worker',
    { dialect, publicKey: 'ab'.repeat(32) },
    'invalid_request',
    ['publicKey'],
  ],
  ['the reserved id of Parley', 'parley', { dialect }, 'invalid_request', []],
  ['the reserved id of administrators', 'admin', { dialect }, 'invalid_request', []],
];

describe('agent registration', () => {
  it('rejects a bad registration without a trace', async (t) => {
    const parley = await testParley(t);
    for (const [what, id, body, code, paths] of refused) {
      await t.test(`rejects a registration with ${what}`, async () => {
        const register = () => parley.admin.call('PUT', `/v1/agents/${id}`, body);
        const reply = await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, register);
        assert.deepEqual(
          (reply.body.issues ?? []).map(({ path }: { path: string }) => path),
          paths,
        );
      });
    }
  });

  it('shows the key once and the registration every time', async (t) => {
    const { admin } = await testParley(t);
    const registration = {
      dialect,
      capabilities: ['security.briefing', 'home.scene', 'parse_recipe'],
      transport: 'http',
      versions: ['1.0'],
      publicKey: 'ssh-ed25519 AAAA',
      limits: { parallel: 3 },
      manifest: { team: 'round table' },
    };
    const created = await admin.call('PUT', '/v1/agents/worker', registration);
    assert.equal(created.status, 201);
    const { registeredAt, ...shown } = created.body.agent;
    assert.deepEqual(shown, { id: 'worker', ...registration, domains: [], serves: ['security', 'home'], health: {} });
    assert.match(created.body.key, /^prl_default\.worker\.[\w-]{49}$/);
    const { activity, ...read } = (await admin.call('GET', '/v1/agents/worker')).body;
    assert.deepEqual(read, created.body.agent);
    assert.deepEqual(activity.instances, []);
    const changed = await admin.call('PUT', '/v1/agents/worker', { dialect, domains: ['comms'] });
    assert.equal(changed.status, 200);
    assert.equal(changed.body.key, undefined);
    assert.deepEqual(changed.body.agent, {
      id: 'worker',
      dialect,
      capabilities: [],
      domains: ['comms'],
      serves: ['comms'],
      transport: 'http',
      registeredAt,
      health: {},
    });
  });

  it('applies changed domains to the next claim', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const home = await requester.request({ payload: { task: 'home.scene' } });
    assert.deepEqual(await worker.claim(), []);
    await admin.call('PUT', '/v1/agents/worker', { dialect, domains: ['home'] });
    assert.equal((await worker.claim())[0].message.id, home);
  });

  it('accepts a registration that was read and written back, without a change of domains', async (t) => {
    const { agent, admin } = await testParley(t);
    await agent('worker', { capabilities: ['security.scan'] });
    const {
      id: _id,
      health: _health,
      registeredAt: _at,
      activity: _activity,
      serves,
      ...read
    } = (await admin.call('GET', '/v1/agents/worker')).body;
    assert.deepEqual([read.domains, serves], [[], ['security']]);
    assert.equal((await admin.call('PUT', '/v1/agents/worker', read)).status, 200);
    const { domains } = (await admin.call('GET', '/v1/agents/worker')).body;
    assert.deepEqual(domains, []);
  });

  it('rejects registrations, deletions and key rotations by an agent', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await refusedWithoutTrace(parley, 403, 'forbidden', () => worker.call('PUT', '/v1/agents/worker', { dialect }));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => worker.call('PUT', '/v1/agents/intruder', { dialect }));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => worker.call('DELETE', '/v1/agents/worker'));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => worker.call('POST', '/v1/agents/worker/key'));
  });

  it('lists every agent, page by page', async (t) => {
    const { agent, admin } = await testParley(t);
    const ids = Array.from({ length: 7 }, (_, index) => `agent-${index}`);
    for (const id of ids) await agent(id);
    const found: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { body } = await admin.call('GET', `/v1/agents?limit=3${cursor && `&cursor=${cursor}`}`);
      found.push(...body.agents.map(({ id }: { id: string }) => id));
      cursor = body.cursor;
    }
    assert.deepEqual(found, ids);
  });

  it('gives the messages of a removed agent to a new one of that name only with inherit', async (t) => {
    const { agent, admin, clock, transport } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const task = await requester.request({ to: 'worker' });
    const asked = await worker.request({ to: 'requester' });
    await requester.complete(asked);
    assert.equal((await worker.inbox()).length, 1);
    assert.equal((await admin.call('DELETE', '/v1/agents/worker')).status, 204);
    const registration = { dialect: 'round-table', capabilities: ['security.briefing'] };
    const refused = await admin.call('PUT', '/v1/agents/worker', registration);
    assertRefused(refused, 409, 'agent_removed');
    assert.ok(Date.parse(refused.body.freeAt) >= clock.now() + 14 * 86_400_000);
    assertRefused(await admin.call('GET', '/v1/agents/worker'), 404, 'agent_not_found');
    const again = await admin.call('PUT', '/v1/agents/worker?inherit=true', registration);
    assert.equal(again.status, 201);
    const heir = new TestAgent('worker', again.body.key, transport);
    assert.equal((await heir.inbox()).length, 1);
    assert.equal((await heir.claim())[0].message.id, task);
    assert.equal(
      (await admin.call('PUT', '/v1/agents/worker', registration)).status,
      200,
      'a change is no registration',
    );
  });

  it('frees the name of a removed agent once no record names it', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    await agent('worker');
    await admin.call('DELETE', '/v1/agents/worker');
    const { freeAt } = (await admin.call('PUT', '/v1/agents/worker', { dialect: 'round-table' })).body;
    clock.advance(Date.parse(freeAt) - clock.now() + 1);
    assert.equal((await admin.call('PUT', '/v1/agents/worker', { dialect: 'round-table' })).status, 201);
    assert.equal((await admin.call('DELETE', '/v1/agents/worker')).status, 204);
    assertRefused(await admin.call('PUT', '/v1/agents/worker', { dialect: 'round-table' }), 409, 'agent_removed');
  });

  it('rejects messages to a deleted agent', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester] = [await agent('requester'), await agent('worker')];
    assert.equal((await admin.call('DELETE', '/v1/agents/worker')).status, 204);
    assertRefused(await admin.call('GET', '/v1/agents/worker'), 404, 'agent_not_found');
    assertRefused(await admin.call('DELETE', '/v1/agents/worker'), 404, 'agent_not_found');
    assertRefused(await requester.send(taskRequest('requester', { to: 'worker' })), 422, 'unknown_agent');
  });

  it('rejects a deletion that races with a change of the registration', async (t) => {
    let isMoment = false;
    const { agent, admin } = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: async (writes, token) => {
            if (isMoment) {
              isMoment = false;
              const changed = await admin.call('PUT', '/v1/agents/worker', { dialect, capabilities: ['juggle'] });
              assert.equal(changed.status, 200);
            }
            return ports.records.transact(writes, token);
          },
        },
      }),
    });
    await agent('worker', { capabilities: ['cook'] });
    const chef = await agent('chef', { dialect: 'task-format' });
    isMoment = true;
    assertRefused(await admin.call('DELETE', '/v1/agents/worker'), 503, 'conflict');
    assert.equal((await admin.call('DELETE', '/v1/agents/worker')).status, 204);
    const asked = await chef.send({ id: 'a show', type: 'juggle', payload: {} });
    assertRefused(asked, 422, 'capability_not_found');
  });
});
