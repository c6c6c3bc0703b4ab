import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { toolRef } from '../../shared/identity/tools/tool.ts';
import { getTool } from '../../shared/registration/register-tool.ts';
import { assertRefused } from '../http/refusal.ts';
import { testParley } from '../support/test-parley.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    query: { type: 'string', pattern: '^[a-z]+$' },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
  },
  required: ['query'],
  additionalProperties: false,
  if: { properties: { query: { const: 'x' } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['tags'] },
  $defs: { tag: { type: ['string', 'null'], maxLength: 10 } },
  'x-cost': 3,
};
const SEARCH = {
  description: 'Searches the web',
  parameters: PARAMETERS,
  target_subject: 'cmd.tool.search.execute',
  after_execution: 'terminate',
  ui_allowed: true,
  options: { timeout_seconds: 30 },
};

describe('tool registration', () => {
  it('lets only administrators register a tool and returns it to agents as registered', async (t) => {
    const { admin, agent } = await testParley(t);
    const reader = await agent('reader');
    assertRefused(await reader.call('PUT', '/v1/tools/web.search', SEARCH), 403, 'forbidden');
    const made = await admin.call('PUT', '/v1/tools/web.search', SEARCH);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { updated_at, ...tool } = (await reader.call('GET', '/v1/tools/web.search')).body;
    assert.deepEqual(tool, { name: 'web.search', ...SEARCH });
    assert.equal(updated_at, '2026-03-01T12:00:00.000Z');
  });

  it('registers a tool without parameters, with after_execution suspend and ui_allowed false by default', async (t) => {
    const { admin } = await testParley(t);
    const { body } = await admin.call('PUT', '/v1/tools/bare', { target_subject: 'cmd.tool.bare.run' });
    const { updated_at: _at, ...tool } = body;
    assert.deepEqual(tool, {
      name: 'bare',
      description: '',
      parameters: { type: 'object', properties: {} },
      target_subject: 'cmd.tool.bare.run',
      after_execution: 'suspend',
      ui_allowed: false,
      options: {},
    });
  });

  it('replaces the whole tool when it is registered again', async (t) => {
    const { admin } = await testParley(t);
    await admin.call('PUT', '/v1/tools/search', SEARCH);
    const again = await admin.call('PUT', '/v1/tools/search', { target_subject: 'cmd.tool.other.run' });
    assert.equal(again.status, 200);
    assert.deepEqual((await admin.call('GET', '/v1/tools/search')).body, again.body);
    assert.equal(again.body.ui_allowed, false);
    assert.deepEqual(again.body.options, {});
  });

  it('accepts only target subjects of tools and of internal tools, and strips their prefix', async (t) => {
    const { admin } = await testParley(t);
    const kept = async (target_subject: string) =>
      (await admin.call('PUT', '/v1/tools/x', { target_subject })).body.target_subject;
    assert.equal(await kept('cg.v1r3.default.public.cmd.tool.search.execute'), 'cmd.tool.search.execute');
    assert.equal(await kept('cg.v1r3.*.*.cmd.tool.search.web.execute'), 'cmd.tool.search.web.execute');
    assert.equal(await kept('cmd.sys.pmo.internal.fork_join'), 'cmd.sys.pmo.internal.fork_join');
    assert.equal(await kept('cg.v1r4.{project_id}.{channel_id}.cmd.tool.word_count.call'), 'cmd.tool.word_count.call');
    assert.equal(await kept('cg.{ver}.{project_id}.t_x.cmd.tool.word_count.call'), 'cmd.tool.word_count.call');
    for (const target_subject of [
      '',
      'search',
      'cmd.tool.search',
      'evt.tool.search.execute',
      'cmd.agent.reader.wakeup',
      'cmd.sys.ui.action',
      'cmd.tool.*.x',
      'cg.v1r4.{project_id}.cmd.tool.x.y',
      'cg.v1r4.{}.{channel_id}.cmd.tool.x.y',
      'cmd.tool.a.b\n',
      'cmd.sys.pmo.internal',
      5,
    ]) {
      assertRefused(await admin.call('PUT', '/v1/tools/y', { target_subject }), 400, 'invalid_request');
    }
    assertRefused(await admin.call('GET', '/v1/tools/y'), 404, 'tool_not_found');
  });

  it('rejects tool parameters that are not a JSON Schema and names the invalid field', async (t) => {
    const { admin } = await testParley(t);
    for (const [parameters, path] of [
      [5, 'parameters'],
      ['object', 'parameters'],
      [[], 'parameters'],
      [{ type: 'banana' }, 'parameters.type'],
      [{ properties: 5 }, 'parameters.properties'],
      [{ properties: { a: 7 } }, 'parameters.properties.a'],
      [{ properties: { a: { items: { type: 'nope' } } } }, 'parameters.properties.a.items.type'],
      [{ required: 'query' }, 'parameters.required'],
      [{ anyOf: [] }, 'parameters.anyOf'],
      [{ minLength: -1 }, 'parameters.minLength'],
    ] as const) {
      const reply = await admin.call('PUT', '/v1/tools/x', { target_subject: 'cmd.tool.x.y', parameters });
      assertRefused(reply, 400, 'invalid_request');
      assert.equal(reply.body.issues[0].path, path, JSON.stringify(parameters));
    }
  });

  it('rejects a tool with an invalid deadline_seconds', async (t) => {
    const { admin } = await testParley(t);
    for (const deadline_seconds of [-1, 0, 0.5, 86_401, '30', []]) {
      const { status, body } = await admin.call('PUT', '/v1/tools/x', { ...SEARCH, options: { deadline_seconds } });
      assert.equal(status, 400);
      assert.equal(body.issues[0].path, 'options.deadline_seconds');
    }
    assert.equal(
      (await admin.call('PUT', '/v1/tools/x', { ...SEARCH, options: { deadline_seconds: 30 } })).status,
      201,
    );
  });

  it('rejects a tool with an invalid name, with unknown fields, or that is too large', async (t) => {
    const { admin } = await testParley(t, { config: { limits: { ...config.limits, extensionBytes: 1000 } } });
    for (const name of ['a%20b', 'a%23b', 'x'.repeat(65)]) {
      assertRefused(
        await admin.call('PUT', `/v1/tools/${name}`, { target_subject: 'cmd.tool.x.y' }),
        400,
        'invalid_request',
      );
      assertRefused(await admin.call('GET', `/v1/tools/${name}`), 404, 'tool_not_found');
    }
    assertRefused(await admin.call('PUT', '/v1/tools/x', { ...SEARCH, args: {} }), 400, 'invalid_request');
    assertRefused(
      await admin.call('PUT', '/v1/tools/x', { ...SEARCH, options: { x: 'x'.repeat(1000) } }),
      413,
      'too_large',
    );
    assertRefused(
      await admin.call('PUT', '/v1/tools/x', { ...SEARCH, after_execution: 'explode' }),
      400,
      'invalid_request',
    );
  });

  it('removes a tool at once when an administrator deletes it', async (t) => {
    const { admin, agent } = await testParley(t);
    const reader = await agent('reader');
    await admin.call('PUT', '/v1/tools/search', SEARCH);
    await admin.call('GET', '/v1/tools/search');
    assertRefused(await reader.call('DELETE', '/v1/tools/search'), 403, 'forbidden');
    assert.equal((await admin.call('DELETE', '/v1/tools/search')).status, 204);
    assertRefused(await admin.call('GET', '/v1/tools/search'), 404, 'tool_not_found');
    assertRefused(await admin.call('DELETE', '/v1/tools/search'), 404, 'tool_not_found');
  });

  it('caches a tool for five seconds', async (t) => {
    const { admin, parley, clock } = await testParley(t);
    await admin.call('PUT', '/v1/tools/search', SEARCH);
    const { deps } = parley;
    await getTool(deps, 'default', 'search');
    await deps.records.update(toolRef('default', 'search'), { set: { uiAllowed: false } }, 'elsewhere');
    assert.equal((await getTool(deps, 'default', 'search')).uiAllowed, true);
    clock.advance(5000);
    assert.equal((await getTool(deps, 'default', 'search')).uiAllowed, false);
  });
});

describe('tool list', () => {
  it('lists all tools by name in pages', async (t) => {
    const { admin, agent } = await testParley(t);
    const reader = await agent('reader');
    for (const name of ['c', 'a', 'b']) await admin.call('PUT', `/v1/tools/${name}`, SEARCH);
    const first = (await reader.call('GET', '/v1/tools?limit=2')).body;
    const rest = (await reader.call('GET', `/v1/tools?limit=2&cursor=${first.cursor}`)).body;
    const names = [...first.tools, ...rest.tools].map(({ name }) => name);
    assert.deepEqual(names, ['a', 'b', 'c']);
    assert.equal(rest.cursor, undefined);
  });
});
