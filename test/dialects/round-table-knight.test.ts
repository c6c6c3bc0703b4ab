import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import parleyConfig from '../../parley.config.ts';
import { getAgentDialect } from '../../shared/dialects/registry.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { JsonObject } from '../../shared/kernel/json/json.ts';
import { assertRefused } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const scene = async (t: TestContext) => {
  const parley = await testParley(t);
  const tim = await parley.agent('tim', { profile: 'knight' });
  const galahad = await parley.agent('galahad', { profile: 'knight', domains: ['security'] });
  return { parley, tim, galahad };
};

describe('Round Table in the profile of knights', () => {
  it('takes the messages of the document, whatever their ids are', async (t) => {
    const { tim, galahad } = await scene(t);
    const request = taskRequest('tim', { id: 'briefing-17', to: 'galahad', correlationId: 'chain-daily' });
    assert.equal((await tim.send(request)).status, 202);
    const [claimed] = await galahad.claim();
    assert.equal(claimed.message.id, 'briefing-17');
    assert.equal(claimed.message.correlationId, 'chain-daily');
    assert.equal((await galahad.claimed('briefing-17', { estimatedDurationSeconds: 120 })).status, 202);
    assert.equal((await galahad.progress('briefing-17', { percent: 60 })).status, 202);
    const result = { status: 'completed', result: { format: 'markdown', content: '## Briefing' } };
    const sent = { ...about('task.result', 'galahad', 'briefing-17', result), id: 'result-1', to: 'tim' };
    assert.equal((await galahad.send(sent)).status, 202);
    const [outcome] = await tim.inbox(20);
    assert.deepEqual(outcome.payload.result, result.result);
    const { id, correlationId, task_id, success, output } = outcome;
    assert.deepEqual([id, correlationId, task_id, success], ['result-1', 'briefing-17', 'briefing-17', true]);
    assert.equal(output, '## Briefing');
  });

  it('takes a result in its own words once, with null for what is not there', async (t) => {
    const { tim, galahad } = await scene(t);
    const id = await tim.request({ id: 'briefing-18' });
    const result = { task_id: id, knight: 'galahad', success: true, result: 'All quiet.', error: null, output: null };
    assert.equal((await galahad.send(result)).status, 202);
    assert.equal((await galahad.send(result)).body.duplicate, true);
    assert.deepEqual((await tim.task(id)).result, { content: 'All quiet.' });
  });

  it('takes a text as a task, and its time for it as the time to live', async (t) => {
    const { tim, galahad } = await scene(t);
    const asked = { task: 'Brief me.', task_id: 'x-1', domain: 'security', metadata: { timeout_ms: 90_500 } };
    const reply = await tim.send(asked);
    assert.deepEqual([reply.status, reply.body.taskId], [202, 'x-1']);
    const [{ message }] = await galahad.claim();
    assert.deepEqual([message.task, message.ttl, message.metadata.timeout_ms], ['Brief me.', 91, 90_500]);
    assert.equal(message.payload.task, 'security.task');
  });

  for (const [what, payload, expected] of [
    ['an error alone', { error: 'no credit left' }, ['internal_error', 'no credit left']],
    [
      'a code of the document',
      { error: 'invalid_params', message: 'No such CVE.' },
      ['invalid_params', 'No such CVE.'],
    ],
    ['a code of its own', { error: 'execution_error', output: 'It broke.' }, ['execution_error', 'It broke.']],
    [
      'a text and no success',
      { success: false, result: 'Task failed: aborted' },
      ['internal_error', 'Task failed: aborted'],
    ],
    ['nothing else', { success: false }, ['internal_error', 'The task failed.']],
  ] as const) {
    it(`takes a failure with ${what}`, async (t) => {
      const { tim, galahad } = await scene(t);
      const id = await tim.request();
      assert.equal((await galahad.send({ taskId: id, knight: 'Galahad', ...payload })).status, 202);
      const { error, lastError } = await tim.task(id);
      const { code, message } = error ?? lastError;
      assert.deepEqual([code, message], expected);
    });
  }

  it('reads task.failed without a correlationId as a failure, whatever its payload says', async (t) => {
    const { tim, galahad } = await scene(t);
    const id = await tim.request();
    const failed = { id, type: 'task.failed', from: 'galahad', timestamp: '2026-02-08T15:00:00Z' };
    assert.equal(
      (await galahad.send({ ...failed, payload: { reason: 'no model', message: 'No model.' } })).status,
      202,
    );
    assert.equal((await tim.task(id)).lastError.message, 'No model.');
  });

  it('rejects what names no task, and another major version', async (t) => {
    const { galahad } = await scene(t);
    const unnamed = await galahad.send({ knight: 'galahad', success: true, result: 'of what?' });
    assertRefused(unnamed, 400, 'invalid_message');
    assert.deepEqual(unnamed.body.issues, [{ path: 'correlationId', message: 'is required' }]);
    const other = { ...about('task.progress', 'galahad', 'x-1', {}), version: '2.0' };
    assertRefused(await galahad.send(other), 400, 'unsupported_version');
  });

  it('reads or rejects any JSON whatever, and never fails over it', () => {
    const fields = ['task', 'task_id', 'taskId', 'knight', 'agentId', 'success', 'result', 'output', 'error', 'type'];
    const others = ['id', 'from', 'to', 'payload', 'metadata', 'timestamp', 'correlationId', 'domain', 'status'];
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('task.result', 'task.failed', 'heartbeat', 'x-1', 'galahad'),
    );
    const site = { project: 'default', config: parleyConfig };
    const dialect = getAgentDialect({ dialect: 'round-table', profile: 'knight' });
    const kinds = [
      'tasks.security.x-1',
      'results.security.x-1',
      'results.x-1',
      'heartbeat.galahad',
      'events.task.claimed',
    ];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...fields, ...others), value),
        fc.constantFrom(...kinds.map((kind) => `roundtable.${kind}`)),
        (message, subject) => {
          const wire: JsonObject = JSON.parse(JSON.stringify(message));
          dialect.getSender?.(wire, site);
          dialect.listCorrelationIds?.(wire);
          try {
            const arrived = dialect.natsBinding?.fromNats({ subject, headers: {} }, wire, site) ?? wire;
            dialect.decode(arrived, parleyConfig, undefined);
          } catch (error) {
            assert.ok(error instanceof ParleyError, String(error));
          }
        },
      ),
    );
  });

  it('speaks for nobody else', async (t) => {
    const { tim, galahad } = await scene(t);
    const id = await tim.request();
    const result = { task_id: id, knight: 'tim', success: true, result: 'All quiet.' };
    assertRefused(await galahad.send(result), 403, 'from_mismatch');
  });

  it('leaves agents without the profile as strict as the document', async (t) => {
    const { parley } = await scene(t);
    const kay = await parley.agent('kay', {});
    assertRefused(await kay.send(taskRequest('kay', { id: 'briefing-19' })), 400, 'invalid_message');
    const result = { task_id: 'briefing-17', knight: 'kay', success: true, result: 'All quiet.' };
    assertRefused(await kay.send(result), 400, 'unknown_dialect');
  });
});
