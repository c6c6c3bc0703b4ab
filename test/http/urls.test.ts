import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused, refusedWithoutTrace } from './refusal.ts';

const refused: [method: string, path: string, code: ParleyErrorCode][] = [
  ['GET', '/v1', 'not_found'],
  ['GET', '/v1/tasks/a/b/c', 'not_found'],
  ['GET', '/v1/tasks/%', 'not_found'],
  ['GET', '/v1/tasks/%zz', 'not_found'],
  ['GET', '/v1/tasks/%ed%a0%80', 'not_found'],
  ['GET', '/v1/tasks/%00', 'task_not_found'],
  ['GET', '/v1/tasks/', 'not_found'],
  ['GET', `/v1/tasks/${'a'.repeat(255)}`, 'task_not_found'],
  // Some engines take no key that long.
  ['GET', `/v1/tasks/${'a'.repeat(256)}`, 'not_found'],
  ['GET', `/v1/turns/${'a'.repeat(2100)}`, 'not_found'],
  ['GET', `/v1/messages/requester/${'a'.repeat(2100)}`, 'not_found'],
  ['GET', '/v1/tasks/..%2f..%2fadmin', 'task_not_found'],
  ['GET', '/v1/agents/no%23body', 'agent_not_found'],
  ['DELETE', '/v1/agents/%F0%9F%92%A9', 'agent_not_found'],
  ['POST', '/v1/agents/nobody/key', 'agent_not_found'],
  ['PATCH', '/v1/tasks', 'method_not_allowed'],
  ['GET', '/v1/messages', 'method_not_allowed'],
  ['DELETE', '/healthz', 'method_not_allowed'],
  ['GET', '/v1/tasks?colour=red', 'invalid_request'],
  ['GET', '/v1/tasks?__proto__=x', 'invalid_request'],
  ['POST', '/v1/messages?wait=1', 'invalid_request'],
  ['GET', '/v1/tasks?status=lost', 'invalid_request'],
  ['GET', '/v1/tasks?limit=0', 'invalid_request'],
  ['GET', '/v1/tasks?limit=101', 'invalid_request'],
  ['GET', '/v1/tasks?limit=ten', 'invalid_request'],
  ['GET', '/v1/tasks?cursor=yesterday', 'invalid_request'],
  ['GET', '/v1/tasks?cursor=', 'invalid_request'],
  ['GET', '/v1/tasks?status=failed&cursor=yesterday', 'invalid_request'],
  ['GET', '/v1/dead-letters?cursor=yesterday', 'invalid_request'],
  ['GET', '/v1/events?after=yesterday', 'invalid_request'],
  ['GET', '/v1/events?after=-1', 'invalid_request'],
  ['GET', '/v1/inbox?agent=requester&wait=26', 'invalid_request'],
  ['GET', '/v1/inbox?agent=requester&wait=-1', 'invalid_request'],
  ['GET', '/v1/inbox?agent=requester&wait=soon', 'invalid_request'],
  ['GET', '/v1/inbox?agent=requester&max=0', 'invalid_request'],
  ['GET', '/v1/inbox', 'invalid_request'],
  ['GET', '/v1/inbox?agent=nobody', 'unknown_agent'],
  ['GET', '/v1/tasks/any?wait=26', 'invalid_request'],
];

describe('ids in URL paths', () => {
  const graphOf = (graphId: string, taskId: string) => ({ graphId, nodes: [{ taskId, capability: 'parse_recipe' }] });
  /** As a browser or any other client that follows the URL standard writes it. */
  const addressed = (path: string, id: string) => new URL(path + encodeURIComponent(id), 'http://parley').pathname;

  for (const id of ['.', '..']) {
    it(`rejects the id ${id} because no URL path can name it`, async (t) => {
      const parley = await testParley(t);
      const { orchestrator } = await kitchen(parley);
      assert.notEqual(addressed('/v1/tasks/', id), `/v1/tasks/${id}`);
      const calls: [path: string, body: object, code: ParleyErrorCode, issue: string][] = [
        ['/v1/tasks', tfRequest({ id }), 'invalid_message', 'id'],
        ['/v1/messages', { id, status: 'in_progress' }, 'invalid_message', 'id'],
        ['/v1/batches', { batchId: id, tasks: [tfRequest()] }, 'invalid_request', 'batchId'],
        ['/v1/graphs', graphOf(id, 'soup'), 'invalid_request', 'graphId'],
        ['/v1/graphs', graphOf('dinner', id), 'invalid_request', 'nodes[0].taskId'],
      ];
      for (const [path, body, code, issue] of calls) {
        const reply = await refusedWithoutTrace(parley, 400, code, () => orchestrator.call('POST', path, body));
        assert.equal(reply.body.issues[0].path, issue);
        assert.match(reply.body.issues[0].message, /no address can name/);
      }
      const tool = { target_subject: 'cmd.tool.kitchen.run', after_execution: 'suspend' };
      assert.equal((await parley.admin.call('PUT', `/v1/tools/${id}a`, tool)).status, 201);
      assertRefused(await parley.admin.call('PUT', `/v1/tools/${id}`, tool), 400, 'invalid_request');
    });
  }

  it('finds a task by its URL-encoded id, whatever characters it has', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const printable = fc.string({ unit: fc.constantFrom(...'.%2eE#?\\: aü水𐍈'), minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(printable, async (id) => {
        fc.pre(!['.', '..'].includes(id));
        assert.ok([200, 202].includes((await orchestrator.call('POST', '/v1/tasks', tfRequest({ id }))).status));
        const { status, body } = await orchestrator.call('GET', addressed('/v1/tasks/', id));
        assert.deepEqual([status, body.id], [200, id]);
      }),
    );
  });
});

describe('invalid URLs', () => {
  it('rejects invalid paths and queries without any effect', async (t) => {
    const parley = await testParley(t);
    await parley.agent('requester');
    for (const [method, path, code] of refused) {
      await t.test(`${method} ${path}`, async () => {
        await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, () => parley.admin.call(method, path));
      });
    }
  });

  it('returns the allowed methods of a path with 405', async (t) => {
    const { admin } = await testParley(t);
    const reply = await admin.call('PATCH', '/v1/agents/requester');
    assertRefused(reply, 405, 'method_not_allowed');
    assert.equal(reply.headers.allow, 'PUT, GET, HEAD, DELETE');
  });

  it('names unknown query parameters in the issues', async (t) => {
    const { admin } = await testParley(t);
    const reply = await admin.call('GET', '/v1/tasks?colour=red&limit=none');
    assert.deepEqual(reply.body.issues.map(({ path }: { path: string }) => path).sort(), ['colour', 'limit']);
    assert.match(JSON.stringify(reply.body.issues), /colour/);
  });

  it('names the known dialects when the dialect is unknown', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester');
    const id = await requester.request();
    const reply = await requester.call('GET', `/v1/tasks/${id}?dialect=latin`);
    assertRefused(reply, 400, 'unknown_dialect');
    assert.ok(reply.body.known.includes('round-table'));
  });
});

describe('cursor', () => {
  it('reads no more for a cursor in the future than for any other', async (t) => {
    let reads = 0;
    const { admin } = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        events: {
          ...ports.events,
          read: (project, options) => {
            reads += 1;
            return ports.events.read(project, options);
          },
        },
      }),
    });
    await admin.call('GET', '/v1/audit-log');
    const usual = reads;
    assert.equal((await admin.call('GET', '/v1/audit-log?cursor=999999999999999.999999')).status, 200);
    assert.ok(usual > 0 && reads - usual <= usual, `${reads - usual} reads instead of ${usual}`);
  });
});
