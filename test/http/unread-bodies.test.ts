import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Access } from '../../shared/http/route.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { testParley } from '../support/test-parley.ts';

const KEYS: Record<string, readonly Access[]> = {
  nobody: ['agent-or-admin', 'admin', 'relay-or-admin', 'any-key'],
  agent: ['admin', 'relay-or-admin'],
};

describe('request bodies', () => {
  for (const [who, refused] of Object.entries(KEYS)) {
    it(`rejects calls of ${who} without access before it reads the body`, async (t) => {
      const { parley, agent } = await testParley(t);
      const { key } = await agent('requester');
      const headers: Record<string, string> = who === 'agent' ? { authorization: `Bearer ${key}` } : {};
      for (const { access, method, path } of routes.filter((route) => refused.includes(route.access))) {
        let isRead = false;
        const readBody = async () => {
          isRead = true;
          return new Uint8Array();
        };
        const { status } = await parley.handle({ method, path, query: '', headers, readBody });
        assert.equal(status, who === 'agent' ? 403 : 401, `${method} ${path}`);
        assert.ok(!isRead, `${method} ${path} (${access})`);
      }
    });
  }

  it('limits each body to the size that its route needs', async (t) => {
    const { parley, admin } = await testParley(t);
    const { bodyBytes } = parley.deps.config.limits;
    const limits = new Map<string, number>();
    for (const { access, method, path, isForeign } of routes.filter((route) =>
      ['POST', 'PUT'].includes(route.method),
    )) {
      const reply = await admin.call(method, path, ' '.repeat(bodyBytes + 1), { 'a2a-version': '1.0' });
      if (isForeign) {
        assert.match(JSON.stringify(reply.body), /The body is larger than/, `${method} ${path}`);
        continue;
      }
      assert.equal(reply.status, 413, `${method} ${path}`);
      limits.set(`${method} ${path}`, reply.body.limit);
      assert.equal((await admin.call(method, path, ' '.repeat(reply.body.limit + 1))).body.code, 'too_large', access);
    }
    const large = [...limits].flatMap(([call, limit]) => (limit === bodyBytes ? [call] : []));
    assert.deepEqual(large.sort(), [
      'POST /v1/batches',
      'POST /v1/cards',
      'POST /v1/claims',
      'POST /v1/graphs',
      'POST /v1/messages',
      'POST /v1/relay/render',
      'POST /v1/tasks',
      'POST /v1/tasks/{id}/input',
      'POST /v1/tasks/{id}/rerun',
      'POST /v1/turns',
      'PUT /v1/tasks/{id}/steps/{name}',
    ]);
    assert.equal(limits.get('POST /v1/tasks/{id}/cancel'), 64 * 1024);
  });
});
