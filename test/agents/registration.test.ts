import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { TestAgent, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const dialect = 'round-table';

const refused: [what: string, id: string, body: unknown, code: ParleyErrorCode, paths: string[]][] = [
  ['no body', 'kay', '', 'invalid_request', ['']],
  ['no dialect', 'kay', {}, 'invalid_request', ['dialect']],
  ['an unknown dialect', 'kay', { dialect: 'latin' }, 'invalid_request', ['dialect']],
  ['capabilities that are a text', 'kay', { dialect, capabilities: 'security.x' }, 'invalid_request', ['capabilities']],
  ['a capability that is a number', 'kay', { dialect, capabilities: ['a', 5] }, 'invalid_request', ['capabilities[1]']],
  [
    'too many capabilities',
    'kay',
    { dialect, capabilities: Array(257).fill('a') },
    'invalid_request',
    ['capabilities'],
  ],
  ['an unknown field', 'kay', { dialect, colour: 'red' }, 'invalid_request', ['colour']],
  ['another way', 'kay', { dialect, transport: 'pigeon' }, 'invalid_request', ['transport']],
  [
    'several mistakes',
    'kay',
    { transport: 5, limits: [], versions: [''] },
    'invalid_request',
    ['dialect', 'transport', 'versions[0]', 'limits'],
  ],
  ['a capability of an unknown domain', 'kay', { dialect, capabilities: ['alchemy.gold'] }, 'unknown_domain', []],
  ['an unknown domain', 'kay', { dialect, domains: ['alchemy'] }, 'unknown_domain', []],
  ['an id with a capital', 'Kay', { dialect }, 'invalid_request', []],
  ['an id with a dot', 'sir.kay', { dialect }, 'invalid_request', []],
  ['an id with a line break', 'kay%0a', { dialect }, 'invalid_request', []],
  ['an id that is too long', 'k'.repeat(65), { dialect }, 'invalid_request', []],
  [
    'a public key that cannot be read',
    'kay',
    { dialect, publicKey: 'ab'.repeat(32) },
    'invalid_request',
    ['publicKey'],
  ],
  ['the name by which Parley speaks', 'parley', { dialect }, 'invalid_request', []],
  ['the name by which an administrator acts', 'admin', { dialect }, 'invalid_request', []],
];

describe('registration', () => {
  it('is refused and changes nothing', async (t) => {
    const parley = await testParley(t);
    for (const [what, id, body, code, paths] of refused) {
      await t.test(what, async () => {
        const register = () => parley.admin.call('PUT', `/v1/agents/${id}`, body);
        const reply = await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, register);
        assert.deepEqual(
          (reply.body.issues ?? []).map(({ path }: { path: string }) => path),
          paths,
        );
      });
    }
  });

  it('shows the key once, and what was registered every time', async (t) => {
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
    const created = await admin.call('PUT', '/v1/agents/kay', registration);
    assert.equal(created.status, 201);
    const { registeredAt, ...shown } = created.body.agent;
    assert.deepEqual(shown, { id: 'kay', ...registration, domains: [], serves: ['security', 'home'], health: {} });
    assert.match(created.body.key, /^prl_default\.kay\.[\w-]{43}$/);
    assert.deepEqual((await admin.call('GET', '/v1/agents/kay')).body, created.body.agent);
    const changed = await admin.call('PUT', '/v1/agents/kay', { dialect, domains: ['comms'] });
    assert.equal(changed.status, 200);
    assert.equal(changed.body.key, undefined);
    assert.deepEqual(changed.body.agent, {
      id: 'kay',
      dialect,
      capabilities: [],
      domains: ['comms'],
      serves: ['comms'],
      transport: 'http',
      registeredAt,
      health: {},
    });
  });

  it('that changes the domains changes what is claimed at once', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    const home = await tim.request({ payload: { task: 'home.scene' } });
    assert.deepEqual(await kay.claim(), []);
    await admin.call('PUT', '/v1/agents/kay', { dialect, domains: ['home'] });
    assert.equal((await kay.claim())[0].message.id, home);
  });

  it('can be read and written back without a change of what the agent is handed', async (t) => {
    const { agent, admin } = await testParley(t);
    await agent('kay', { capabilities: ['security.scan'] });
    const {
      id: _id,
      health: _health,
      registeredAt: _at,
      serves,
      ...read
    } = (await admin.call('GET', '/v1/agents/kay')).body;
    assert.deepEqual([read.domains, serves], [[], ['security']]);
    assert.equal((await admin.call('PUT', '/v1/agents/kay', read)).status, 200);
    const { domains } = (await admin.call('GET', '/v1/agents/kay')).body;
    assert.deepEqual(domains, []);
  });

  it('is for an administrator', async (t) => {
    const parley = await testParley(t);
    const kay = await parley.agent('kay');
    await refusedWithoutTrace(parley, 403, 'forbidden', () => kay.call('PUT', '/v1/agents/kay', { dialect }));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => kay.call('PUT', '/v1/agents/mordred', { dialect }));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => kay.call('DELETE', '/v1/agents/kay'));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => kay.call('POST', '/v1/agents/kay/key'));
  });

  it('lists every agent, page by page', async (t) => {
    const { agent, admin } = await testParley(t);
    const ids = Array.from({ length: 7 }, (_, index) => `knight-${index}`);
    for (const id of ids) await agent(id);
    const found: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { body } = await admin.call('GET', `/v1/agents?limit=3${cursor && `&cursor=${cursor}`}`);
      found.push(...body.agents.map(({ id }: { id: string }) => id));
      cursor = body.cursor;
    }
    assert.deepEqual(found, ids);
  });

  it('gives nobody what was sent to a removed agent of the same name, unless an administrator says that it is the same', async (t) => {
    const { agent, admin, clock, transport } = await testParley(t);
    const [tim, kay] = [await agent('tim'), await agent('kay')];
    const task = await tim.request({ to: 'kay' });
    const asked = await kay.request({ to: 'tim' });
    await tim.complete(asked);
    assert.equal((await kay.inbox()).length, 1);
    assert.equal((await admin.call('DELETE', '/v1/agents/kay')).status, 204);
    const registration = { dialect: 'round-table', capabilities: ['security.briefing'] };
    const refused = await admin.call('PUT', '/v1/agents/kay', registration);
    assertRefused(refused, 409, 'agent_removed');
    assert.ok(Date.parse(refused.body.freeAt) >= clock.now() + 14 * 86_400_000);
    assertRefused(await admin.call('GET', '/v1/agents/kay'), 404, 'agent_not_found');
    const again = await admin.call('PUT', '/v1/agents/kay?inherit=true', registration);
    assert.equal(again.status, 201);
    const heir = new TestAgent('kay', again.body.key, transport);
    assert.equal((await heir.inbox()).length, 1);
    assert.equal((await heir.claim())[0].message.id, task);
    assert.equal((await admin.call('PUT', '/v1/agents/kay', registration)).status, 200, 'a change is no registration');
  });

  it('is free again under the name of a removed agent once nothing is kept that names it', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    await agent('kay');
    await admin.call('DELETE', '/v1/agents/kay');
    const { freeAt } = (await admin.call('PUT', '/v1/agents/kay', { dialect: 'round-table' })).body;
    clock.advance(Date.parse(freeAt) - clock.now() + 1);
    assert.equal((await admin.call('PUT', '/v1/agents/kay', { dialect: 'round-table' })).status, 201);
    assert.equal((await admin.call('DELETE', '/v1/agents/kay')).status, 204);
    assertRefused(await admin.call('PUT', '/v1/agents/kay', { dialect: 'round-table' }), 409, 'agent_removed');
  });

  it('ends with a deletion, after which nothing can be sent to the agent', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim] = [await agent('tim'), await agent('kay')];
    assert.equal((await admin.call('DELETE', '/v1/agents/kay')).status, 204);
    assertRefused(await admin.call('GET', '/v1/agents/kay'), 404, 'agent_not_found');
    assertRefused(await admin.call('DELETE', '/v1/agents/kay'), 404, 'agent_not_found');
    assertRefused(await tim.send(taskRequest('tim', { to: 'kay' })), 422, 'unknown_agent');
  });

  it('is not ended half-way where it is changed at the same moment', async (t) => {
    let isMoment = false;
    const { agent, admin } = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: async (writes, token) => {
            if (isMoment) {
              isMoment = false;
              const changed = await admin.call('PUT', '/v1/agents/kay', { dialect, capabilities: ['juggle'] });
              assert.equal(changed.status, 200);
            }
            return ports.records.transact(writes, token);
          },
        },
      }),
    });
    await agent('kay', { capabilities: ['cook'] });
    const chef = await agent('chef', { dialect: 'task-format' });
    isMoment = true;
    assertRefused(await admin.call('DELETE', '/v1/agents/kay'), 503, 'conflict');
    assert.equal((await admin.call('DELETE', '/v1/agents/kay')).status, 204);
    const asked = await chef.send({ id: 'a show', type: 'juggle', payload: {} });
    assertRefused(asked, 422, 'capability_not_found');
  });
});
