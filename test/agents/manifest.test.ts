import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace } from '../http/refusal.ts';
import { AgentOsAgent, agentOsAgent } from '../support/agent-os-agent.ts';
import { testParley } from '../support/test-parley.ts';

const entry = (id: string, overrides: object = {}) => ({
  id,
  name: `The ${id}`,
  version: '1.2.0',
  category: 'analysis',
  description: 'Reads what others wrote down.',
  dependencies: ['one-brain'],
  policies: ['R0'],
  capabilities: ['gdp_analysis', 'macro.forecast', 'security.briefing'],
  tier: 2,
  ...overrides,
});

describe('manifest', () => {
  it('registers all agents of a manifest in one call, each with a key and its manifest entry', async (t) => {
    const { admin, transport } = await testParley(t);
    const reply = await admin.call('POST', '/v1/manifest', {
      version: '0',
      agents: [entry('scribe'), entry('one-brain')],
    });
    assert.equal(reply.status, 200);
    const [scribe, brain] = reply.body.agents;
    assert.deepEqual([scribe.id, scribe.outcome, brain.outcome], ['scribe', 'registered', 'registered']);
    const shown = (await admin.call('GET', '/v1/agents/scribe')).body;
    assert.deepEqual([shown.dialect, shown.manifest], ['agent-os', entry('scribe')]);
    assert.deepEqual([shown.capabilities, shown.serves], [entry('scribe').capabilities, ['security']]);
    await new AgentOsAgent('one-brain', brain.key, transport).say('query', 'scribe');
    assert.equal((await new AgentOsAgent('scribe', scribe.key, transport).claim()).length, 1);
  });

  it('registers a system of 48 agents in one call, with capabilities named for messages of AgentOS', async (t) => {
    const { admin, transport } = await testParley(t);
    const TIERS = ['governance', 'collection', 'analysis', 'delivery'];
    const agents = Array.from({ length: 48 }, (_, at) =>
      entry(`agent-${at}`, {
        tier: TIERS[at % 4],
        capabilities: ['agent-os.query', 'agent-os.command', `skill_${at}`],
      }),
    );
    const { status, body } = await admin.call('POST', '/v1/manifest', { version: 'v0.0-control-pack', agents });
    assert.equal(status, 200);
    assert.ok(body.agents.every(({ outcome }: { outcome: string }) => outcome === 'registered'));
    const shown = (await admin.call('GET', '/v1/agents/agent-47')).body;
    assert.deepEqual([shown.manifest, shown.capabilities], [agents[47], agents[47]?.capabilities]);
    const [first, last] = [body.agents[0], body.agents[47]].map(({ id, key }) => new AgentOsAgent(id, key, transport));
    await first?.say('query', 'agent-47');
    assert.equal((await last?.claim())?.length, 1);
  });

  it('registers a capability that is named for messages of AgentOS, and gives its agent such a task', async (t) => {
    const parley = await testParley(t);
    const capabilities = ['agent-os.query', 'macro.forecast'];
    const put = await parley.admin.call('PUT', '/v1/agents/scribe', { dialect: 'agent-os', capabilities });
    assert.equal(put.body.code, 'unknown_domain');
    const scribe = await parley.agent('scribe', { dialect: 'agent-os', capabilities: ['agent-os.query'] });
    await parley.admin.call('POST', '/v1/manifest', { agents: [{ id: 'scribe', capabilities }] });
    const asker = await parley.agent('asker', { dialect: 'task-format' });
    for (const type of capabilities) {
      assert.equal((await asker.send({ id: type, type, payload: {} })).status, 202);
      assert.equal((await scribe.claim({ wait: 20 })).length, 1);
    }
    assert.equal((await asker.send({ id: 'x', type: 'macro.history', payload: {} })).body.code, 'capability_not_found');
  });

  it('updates existing agents from a manifest and keeps their keys', async (t) => {
    const parley = await testParley(t);
    const scribe = await agentOsAgent(parley, 'scribe');
    const file = { agents: [entry('scribe', { tier: 'gold' }), entry('new')] };
    const { body } = await parley.admin.call('POST', '/v1/manifest', file);
    assert.deepEqual(body.agents[0], { id: 'scribe', outcome: 'changed' });
    assert.equal(body.agents[1].outcome, 'registered');
    assert.equal((await scribe.call('GET', '/v1/agents/scribe')).body.manifest.tier, 'gold');
  });

  it('keeps the fields of an existing agent that a manifest does not name', async (t) => {
    const { admin } = await testParley(t);
    const rest = { role: 'coordinator', inboxLimit: 7, overflow: 'refuse', limits: { messagesPerMinute: 5 } };
    await admin.call('PUT', '/v1/agents/scribe', { dialect: 'agent-os', capabilities: ['old'], ...rest });
    await admin.call('POST', '/v1/manifest', { agents: [entry('scribe')] });
    const { role, inboxLimit, overflow, limits, capabilities } = (await admin.call('GET', '/v1/agents/scribe')).body;
    assert.deepEqual({ role, inboxLimit, overflow, limits }, rest);
    assert.deepEqual(capabilities, entry('scribe').capabilities);
  });

  it('registers the agents of a manifest concurrently, at most ten at a time', async (t) => {
    let [under, most] = [0, 0];
    const { admin } = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: async (writes, token) => {
            most = Math.max(most, ++under);
            const done = await ports.records.transact(writes, token);
            under--;
            return done;
          },
        },
      }),
    });
    const ids = Array.from({ length: 100 }, (_, at) => `scribe-${at}`);
    const { body } = await admin.call('POST', '/v1/manifest', { agents: ids.map((id) => entry(id)) });
    const answers: { id: string; key: string }[] = body.agents;
    assert.deepEqual(
      answers.map(({ id }) => id),
      ids,
    );
    assert.equal(new Set(answers.map(({ key }) => key)).size, 100);
    assert.ok(most > 1 && most <= 10, `${most} at once`);
  });

  it('rejects a bad agent of a manifest with its reason and registers the others', async (t) => {
    const { admin } = await testParley(t);
    const { body } = await admin.call('POST', '/v1/manifest', { agents: [entry('parley'), entry('scribe')] });
    assert.deepEqual(
      body.agents.map(({ outcome, code }: { outcome: string; code?: string }) => [outcome, code]),
      [
        ['refused', 'invalid_request'],
        ['registered', undefined],
      ],
    );
  });

  const refused: [what: string, file: unknown, paths: string[]][] = [
    ['no agents', {}, ['agents']],
    ['an empty list', { agents: [] }, ['agents']],
    ['too many agents', { agents: Array.from({ length: 101 }, (_, at) => entry(`a${at}`)) }, ['agents']],
    ['one agent twice', { agents: [entry('a'), entry('a')] }, ['agents']],
    [
      'several mistakes',
      { agents: [entry('A B'), entry('b', { capabilities: 'all', dependencies: [1], tier: [] })] },
      ['agents[0].id', 'agents[1].dependencies[0]', 'agents[1].capabilities', 'agents[1].tier'],
    ],
  ];
  it('rejects a bad manifest with all its issues and without a trace', async (t) => {
    const parley = await testParley(t);
    for (const [what, file, paths] of refused) {
      await t.test(`rejects a manifest with ${what}`, async () => {
        const { body } = await refusedWithoutTrace(parley, 400, 'invalid_request', () =>
          parley.admin.call('POST', '/v1/manifest', file),
        );
        assert.deepEqual(
          body.issues.map(({ path }: { path: string }) => path),
          paths,
        );
      });
    }
  });

  it('accepts a manifest only from an administrator and for a dialect that has manifests', async (t) => {
    const parley = await testParley(t);
    const scribe = await agentOsAgent(parley, 'scribe');
    const file = { agents: [entry('a')] };
    await refusedWithoutTrace(parley, 403, 'forbidden', () => scribe.call('POST', '/v1/manifest', file));
    for (const [dialect, code] of [
      ['round-table', 'invalid_request'],
      ['latin', 'unknown_dialect'],
    ] as const) {
      const send = () => parley.admin.call('POST', `/v1/manifest?dialect=${dialect}`, file);
      await refusedWithoutTrace(parley, 400, code, send);
    }
  });
});
