import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { callerWith } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const outcome = (more: object = {}, task: object = {}) => ({
  kind: 'outcome',
  outcome: {
    id: 'b0a1ff6e-1f4e-4d5c-8a59-3a4a3f6f7d10',
    from: 'parley',
    to: 'knight',
    happenedAt: 1,
    status: 'completed',
    task: {
      project: 'default',
      id: 'a-task',
      from: 'knight',
      capability: 'security.briefing',
      domain: 'security',
      priority: 'normal',
      ttlSeconds: 60,
      traceparent: '00-1-2-01',
      extensions: {},
      attempt: 1,
      ...task,
    },
    extensions: {},
    ...more,
  },
});

const relayOf = async (t: TestContext) => {
  const parley = await testParley(t);
  await parley.agent('knight', { transport: 'nats' });
  const relay = callerWith(parley.transport, (await parley.admin.call('POST', '/v1/relay/key')).body.key);
  const words = async (...asks: unknown[]) => {
    const reply = await relay.call('POST', '/v1/relay/render', {
      items: asks.map((item, at) => ({ id: `${at}`, item })),
    });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body.results;
  };
  return { parley, words };
};

describe('what a relay asks', () => {
  it('is not believed where it is not what Parley sends, and keeps nothing back that came with it', async (t) => {
    const { words } = await relayOf(t);
    const { outcome: whole } = outcome();
    const bad = [
      {},
      { kind: 'everything' },
      { kind: 'request', taskId: 5, queueGeneration: 1 },
      { kind: 'report', task: { id: 'a-task', from: 'knight' } },
      { kind: 'outcome' },
      { kind: 'outcome', outcome: { ...whole, task: undefined } },
      { kind: 'outcome', outcome: { ...whole, output: { blob: { toString: 'x' } } } },
      {
        kind: 'directMessage',
        message: { project: 'default', from: 'tim', to: 'knight', id: 'x', content: { json: 1 } },
      },
      { kind: 'presence', agent: 'knight', isOnline: 'yes', at: 1 },
    ];
    const [last, ...first] = (await words(...bad, outcome())).toReversed();
    assert.equal(last.publish.payload.correlationId !== undefined, true, JSON.stringify(last));
    assert.equal(first.length, bad.length);
    for (const word of first) assert.match(word.problem, /The item is not valid/);
  });

  it('brings to light no content of another project, and none that it is told to belong there', async (t) => {
    const { parley, words } = await relayOf(t);
    const { blobs } = parley.parley.deps;
    await blobs.put('other/a-task/x', '"theirs"');
    await blobs.put('default-too/a-task/x', '"theirs"');
    await blobs.put('default/a-task/x', '"ours"');
    const told = async (blob: string) => {
      const artifacts = { index: [], content: { blob, bytes: 8 } };
      return JSON.stringify(await words(outcome({ output: { blob, bytes: 8 }, artifacts })));
    };
    assert.match(await told('default/a-task/x'), /ours/);
    for (const blob of ['other/a-task/x', 'default-too/a-task/x']) {
      const said = await told(blob);
      assert.match(said, /publish/);
      assert.doesNotMatch(said, /theirs/);
    }
  });

  it('is about its own project, whatever it says', async (t) => {
    const { parley, words } = await relayOf(t);
    await parley.agent('morgan', { dialect: 'common-ground', transport: 'nats', capabilities: [] });
    const { task } = outcome({}, { project: 'other', from: 'morgan', holder: 'tim' }).outcome;
    const report = { ...task, v: 1, at: 1, status: 'claimed' };
    const [reported, ended] = await words(
      { kind: 'report', task: report },
      outcome({ to: 'morgan' }, { project: 'other', from: 'morgan' }),
    );
    for (const word of [reported, ended]) {
      assert.match(word.publish?.subject ?? JSON.stringify(word), /^cg\.v1r3\.default\./);
      assert.doesNotMatch(JSON.stringify(word), /other/);
    }
  });
});
