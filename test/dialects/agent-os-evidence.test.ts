import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { agentOsAgent, content, evidence, NO_EVIDENCE } from '../support/agent-os-agent.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  return { parley, brain: await agentOsAgent(parley, 'one-brain'), scribe: await agentOsAgent(parley, 'scribe') };
};

const unfounded = evidence({ sources: [] });

describe('AgentOS law against fabrication', () => {
  it('rejects a source with a blank name', async (t) => {
    const { brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    const response = scribe.message('response', 'one-brain', {
      replyTo: query.id,
      payload: { content: 'Large.' },
      evidence: evidence({ sources: [{ id: ' ', name: '', url: ' ' }] }),
    });
    assertRefused(await scribe.send(response), 400, 'invalid_message');
  });

  const claims: [what: string, said: unknown][] = [
    ['an answer', { answer: 'Large.' }],
    ['data', { data: { value: 17 } }],
    ['a text', 'Large.'],
    ['a list', [17]],
    ['a number', 0],
    ['data under names of its own', { gdp: { value: 17 }, text: 'Large.' }],
    ['a plain yes', { accepted: true }],
  ];
  for (const [what, said] of claims) {
    it(`rejects ${what} with confidence and without a source, records the violation, and leaves the task to its holder`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const query = await brain.say('query', 'scribe');
      await scribe.claim();
      const response = scribe.message('response', 'one-brain', {
        replyTo: query.id,
        payload: content(said),
        evidence: unfounded,
      });
      const blocked = await scribe.send(response);
      assertRefused(blocked, 422, 'fabrication_detected');
      assert.equal(blocked.body.agentOs.code, 'FABRICATION_DETECTED');
      assertRefused(await scribe.send(response), 422, 'fabrication_detected');
      const { violations } = (await parley.admin.call('GET', '/v1/violations')).body;
      assert.equal(violations.length, 1);
      const [{ law, severity, action, agent, messageId, taskId, code, at }] = violations;
      assert.deepEqual(
        [law, severity, action, agent, code],
        ['R0', 'critical', 'blocked', 'scribe', 'fabrication_detected'],
      );
      assert.deepEqual([`msg-${messageId}`, `msg-${taskId}`], [response.id, query.id]);
      assert.equal(at, '2026-03-01T12:00:00.000Z');
      assert.equal((await brain.task(query.id)).state, 'claimed');
      assert.equal((await scribe.respond('one-brain', query.id)).status, 202);
      assert.equal((await brain.task(query.id)).state, 'completed');
    });
  }

  for (const type of ['validation', 'correction', 'event']) {
    it(`rejects a ${type} that answers without a source, and leaves the task to its holder`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const query = await brain.say('query', 'scribe');
      await scribe.claim();
      const overrides = { replyTo: query.id, payload: content({ answer: 'Large.' }), evidence: unfounded };
      assertRefused(await scribe.send(scribe.message(type, 'one-brain', overrides)), 422, 'fabrication_detected');
      const [{ law, taskId }] = (await parley.admin.call('GET', '/v1/violations')).body.violations;
      assert.deepEqual([law, `msg-${taskId}`], ['R0', query.id]);
      assert.equal((await brain.task(query.id)).state, 'claimed');
      const founded = { ...overrides, evidence: evidence() };
      assert.equal((await scribe.send(scribe.message(type, 'one-brain', founded))).status, 202);
    });
  }

  for (const type of ['event', 'evidence', 'gap', 'validation', 'correction']) {
    it(`rejects a ${type} without a source that answers no task, and delivers it to nobody`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const overrides = { payload: content({ answer: 'Large.' }), evidence: unfounded };
      assertRefused(await scribe.send(scribe.message(type, 'one-brain', overrides)), 422, 'fabrication_detected');
      assert.equal((await parley.admin.call('GET', '/v1/violations')).body.violations.length, 1);
      assert.deepEqual([await brain.inbox(), await brain.claim()], [[], []]);
    });
  }

  const honest: [what: string, overrides: Record<string, unknown>][] = [
    ['an answer with a source', { evidence: evidence() }],
    [
      'an answer with 250 sources',
      { evidence: evidence({ sources: Array.from({ length: 250 }, (_, at) => ({ id: `src-${at}` })) }) },
    ],
    ['an answer without confidence', { evidence: NO_EVIDENCE }],
    ['a response that states nothing', { payload: content({}), evidence: unfounded }],
    ['an empty answer', { payload: content({ answer: '', data: {}, notes: [null] }), evidence: unfounded }],
  ];
  for (const [what, overrides] of honest) {
    it(`accepts ${what}`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const query = await brain.say('query', 'scribe');
      await scribe.claim();
      assert.equal((await scribe.respond('one-brain', query.id, overrides)).status, 202);
      assert.deepEqual((await parley.admin.call('GET', '/v1/violations')).body.violations, []);
    });
  }

  it('records no violation under the name of another agent', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const forged = scribe.message('response', 'one-brain', {
      replyTo: scribe.message('query', 'x').id,
      evidence: unfounded,
    });
    assertRefused(await brain.send({ ...forged, payload: content('x') }), 403, 'from_mismatch');
    assert.deepEqual((await parley.admin.call('GET', '/v1/violations')).body.violations, []);
  });
});

describe('list of violations', () => {
  it('returns violations newest first, page by page, to administrators only', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const ids: string[] = [];
    for (let times = 0; times < 5; times++) {
      const response = brain.message('response', 'scribe', {
        replyTo: brain.message('query', 'x').id,
        evidence: unfounded,
      });
      await brain.send({ ...response, payload: content('x') });
      ids.unshift(response.id);
      parley.clock.advance(1);
    }
    const read: string[] = [];
    let cursor = '';
    do {
      const { body } = await parley.admin.call('GET', `/v1/violations?limit=2${cursor}`);
      read.push(...body.violations.map(({ messageId }: { messageId: string }) => `msg-${messageId}`));
      cursor = body.cursor ? `&cursor=${encodeURIComponent(body.cursor)}` : '';
    } while (cursor);
    assert.deepEqual(read, ids);
    assertRefused(await scribe.call('GET', '/v1/violations'), 403, 'forbidden');
    assertRefused(await parley.admin.call('GET', '/v1/violations?cursor=yesterday'), 400, 'invalid_request');
    parley.clock.advance(31 * 86_400_000);
    assert.deepEqual((await parley.admin.call('GET', '/v1/violations')).body.violations, []);
  });
});
