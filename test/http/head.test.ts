import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { testParley } from '../support/test-parley.ts';

describe('HEAD', () => {
  it('has the status of GET wherever there is one', async (t) => {
    const { parley, agent } = await testParley(t);
    const { key } = await agent('tim');
    for (const { path } of routes.filter(({ method }) => method === 'GET')) {
      const request = {
        path,
        query: '',
        headers: { authorization: `Bearer ${key}` },
        readBody: createBodyReader(Buffer.of()),
      };
      const [head, get] = [
        await parley.handle({ ...request, method: 'HEAD' }),
        await parley.handle({ ...request, method: 'GET' }),
      ];
      assert.equal(head.status, get.status, path);
    }
  });

  it('takes nothing out of an inbox, and opens no stream', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    await galahad.complete(id);
    assert.equal((await tim.inbox(20)).length, 1);
    assert.equal((await tim.call('HEAD', '/v1/inbox?mode=take')).status, 200);
    assert.equal((await tim.inbox()).length, 1);
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${tim.key}` };
    const request = { method: 'HEAD', path: '/v1/events', query: '', headers, readBody: createBodyReader(Buffer.of()) };
    assert.equal((await parley.parley.handle(request)).body, '');
  });

  it('is among what a path takes', async (t) => {
    const { admin } = await testParley(t);
    assert.equal((await admin.call('POST', '/healthz')).headers.allow, 'GET, HEAD');
  });
});
