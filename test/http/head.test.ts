import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { testParley } from '../support/test-parley.ts';

describe('HEAD', () => {
  it('answers HEAD with the status of GET on every path', async (t) => {
    const { parley, agent } = await testParley(t);
    const { key } = await agent('requester');
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

  it('takes no inbox entries and opens no stream on HEAD', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    await worker.claim();
    await worker.complete(id);
    assert.equal((await requester.inbox(20)).length, 1);
    assert.equal((await requester.call('HEAD', '/v1/inbox?mode=take')).status, 200);
    assert.equal((await requester.inbox()).length, 1);
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${requester.key}` };
    const request = { method: 'HEAD', path: '/v1/events', query: '', headers, readBody: createBodyReader(Buffer.of()) };
    assert.equal((await parley.parley.handle(request)).body, '');
  });

  it('lists HEAD among the allowed methods of a path', async (t) => {
    const { admin } = await testParley(t);
    assert.equal((await admin.call('POST', '/healthz')).headers.allow, 'GET, HEAD');
  });
});
