import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace } from '../http/refusal.ts';
import { TestAgent } from '../support/api.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const INPUT = { type: 'object', required: ['url'] };
const OUTPUT = { type: 'object', required: ['title'] };

/** The card of an agent, with skills and with capabilities of the older form. */
const card = (name: string, overrides: object = {}) => ({
  name,
  version: '1.0.0',
  description: 'Cooks.',
  displayName: 'The cook',
  signals: ['recipe', 'dinner'],
  skills: [
    { id: 'suggest-meal', name: 'Suggest a meal', description: 'Suggests.', triggers: ['dinner ideas'] },
    { id: 'parse_recipe', description: 'Parses.' },
  ],
  capabilities: [{ name: 'parse_recipe', description: 'Parses.', inputSchema: INPUT, outputSchema: OUTPUT }],
  context: 'personal',
  dependencies: { mcps: [{ name: 'browser', required: true }], agents: ['calendar-agent'] },
  coordination: { canDelegate: true, acceptsSubtasks: true, rules: [] },
  ...overrides,
});

const registry = (overrides: object = {}) => ({
  version: '3.0',
  orchestrator: 'orchestrator',
  agents: {
    'cooking-agent': {
      location: { type: 'local', path: './agents/cooking-agent' },
      skills: card('x').skills,
      mcps: [],
    },
    'calendar-agent': { context: 'work', displayName: 'Calendar', skills: [] },
  },
  skillIndex: { 'parse-recipe': 'cooking-agent', 'view-calendar': 'calendar-agent', 'book-flight': 'elsewhere' },
  routing: { defaultAgent: null },
  ...overrides,
});

const put = async ({ admin, transport }: TestParley, file: object, query = '') => {
  const { status, body } = await admin.call('POST', `/v1/manifest${query}`, file);
  assert.equal(status, 200, JSON.stringify(body));
  const agent = (id: string) =>
    new TestAgent(id, body.agents.find((one: { id: string }) => one.id === id)?.key, transport);
  return { outcomes: body.agents.map((one: { id: string; outcome: string }) => [one.id, one.outcome]), agent };
};

describe('Task Format manifest', () => {
  it('registers the agent of an agent.json with its skills, its capabilities and their schemas', async (t) => {
    const parley = await testParley(t);
    const { outcomes } = await put(parley, card('cooking-agent'));
    assert.deepEqual(outcomes, [['cooking-agent', 'registered']]);
    const { dialect, capabilities, schemas, manifest } = (await parley.admin.call('GET', '/v1/agents/cooking-agent'))
      .body;
    assert.deepEqual([dialect, capabilities], ['task-format', ['suggest-meal', 'parse_recipe']]);
    assert.deepEqual(schemas, { parse_recipe: { input: INPUT, output: OUTPUT } });
    assert.deepEqual(manifest, card('cooking-agent'));
  });

  it('registers the agents of a registry.json and its orchestrator in one call, ready to work', async (t) => {
    const parley = await testParley(t);
    const { outcomes, agent } = await put(parley, registry());
    assert.deepEqual(outcomes, [
      ['cooking-agent', 'registered'],
      ['calendar-agent', 'registered'],
      ['orchestrator', 'registered'],
    ]);
    const shown = async (id: string) => (await parley.admin.call('GET', `/v1/agents/${id}`)).body;
    assert.deepEqual((await shown('cooking-agent')).capabilities, ['suggest-meal', 'parse_recipe', 'parse-recipe']);
    const calendar = await shown('calendar-agent');
    assert.deepEqual(
      [calendar.capabilities, calendar.manifest],
      [['view-calendar'], registry().agents['calendar-agent']],
    );
    const request = tfRequest({ type: 'parse-recipe' });
    assert.equal((await agent('orchestrator').send(request)).status, 202);
    assert.equal((await agent('cooking-agent').claim())[0].message.id, request.id);
  });

  it('leaves an orchestrator that is registered as it is', async (t) => {
    const parley = await testParley(t);
    await parley.agent('orchestrator', {
      dialect: 'round-table',
      role: 'coordinator',
      capabilities: ['security.scan'],
    });
    const { outcomes } = await put(parley, registry());
    assert.deepEqual(outcomes.at(-1), ['orchestrator', 'unchanged']);
    const { dialect, role, capabilities } = (await parley.admin.call('GET', '/v1/agents/orchestrator')).body;
    assert.deepEqual([dialect, role, capabilities], ['round-table', 'coordinator', ['security.scan']]);
  });

  it('changes the agents of a registry that is sent again, and keeps what it does not say', async (t) => {
    const parley = await testParley(t);
    await parley.agent('cooking-agent', { ...taskFormat, limits: { messagesPerMinute: 5 }, capabilities: ['old'] });
    const { outcomes } = await put(parley, registry({ orchestrator: undefined }));
    assert.deepEqual(outcomes, [
      ['cooking-agent', 'changed'],
      ['calendar-agent', 'registered'],
    ]);
    const { limits, capabilities } = (await parley.admin.call('GET', '/v1/agents/cooking-agent')).body;
    assert.deepEqual([limits.messagesPerMinute, capabilities.includes('old')], [5, false]);
  });

  it('registers several cards in one call where the dialect is named', async (t) => {
    const parley = await testParley(t);
    const { outcomes } = await put(parley, { agents: [card('a'), card('b')] }, '?dialect=task-format');
    assert.deepEqual(outcomes, [
      ['a', 'registered'],
      ['b', 'registered'],
    ]);
  });

  it('refuses an agent whose schema cannot be checked, and registers the others', async (t) => {
    const parley = await testParley(t);
    const odd = { capabilities: [{ name: 'x', inputSchema: { type: 'text' } }] };
    const { outcomes } = await put(parley, { agents: { odd, plain: {} } });
    assert.deepEqual(outcomes, [
      ['odd', 'refused'],
      ['plain', 'registered'],
    ]);
  });

  const refused: [what: string, file: object, path: string][] = [
    ['a card without a name that can be an id', card('The Cook'), 'name'],
    ['a card whose skills are a text', card('cook', { skills: 'all' }), 'skills'],
    ['a skill without an id', card('cook', { skills: [{ name: 'x' }] }), 'skills[0]'],
    ['a registry with a name that is no id', registry({ agents: { 'The Cook': {} } }), 'agents.The Cook'],
    ['a registry with an agent that is a text', registry({ agents: { cook: 'x' } }), 'agents.cook'],
    ['an orchestrator that is no id', registry({ orchestrator: 'The Boss' }), 'orchestrator'],
    [
      'too many agents',
      registry({ agents: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`a${at}`, {}])) }),
      'agents',
    ],
  ];
  for (const [what, file, path] of refused) {
    it(`rejects ${what}`, async (t) => {
      const parley = await testParley(t);
      const { body } = await refusedWithoutTrace(parley, 400, 'invalid_request', () =>
        parley.admin.call('POST', '/v1/manifest', file),
      );
      assert.deepEqual([...new Set(body.issues.map((issue: { path: string }) => issue.path))], [path]);
    });
  }
});
