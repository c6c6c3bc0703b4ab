import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../local/http-server.ts';
import baseConfig from '../../parley.config.ts';
import { defineConfig } from '../../shared/config/config.ts';
import { callerWith, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';
import { settled, TRACEPARENT } from './refusal.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = `00-${TRACE_ID}-${PARENT}-01`;
const traceIdOf = (header: string | undefined): string | undefined => header?.split('-')[1];

describe('traceparent', () => {
  it('returns a traceparent of the trace of the caller on every response', async (t) => {
    const { agent, transport, admin } = await testParley(t);
    const requester = await agent('requester');
    const nobody = callerWith(transport, undefined);
    const headers = { traceparent };
    const replies = [
      await requester.call('POST', '/v1/messages', taskRequest('requester'), headers),
      await requester.call('GET', '/v1/tasks', undefined, headers),
      await requester.call('POST', '/v1/messages', '{', headers),
      await requester.call('POST', '/v1/messages', {}, headers),
      await requester.call('GET', '/nowhere', undefined, headers),
      await requester.call('PATCH', '/v1/tasks', undefined, headers),
      await requester.call('GET', '/v1/tasks/%', undefined, headers),
      await nobody.call('GET', '/v1/tasks', undefined, headers),
      await nobody.call('GET', '/healthz', undefined, headers),
      await nobody.call('GET', '/openapi.json', undefined, headers),
      await admin.call('DELETE', '/v1/agents/requester', undefined, headers),
    ];
    for (const reply of replies) {
      assert.match(reply.headers.traceparent ?? '', TRACEPARENT);
      assert.equal(traceIdOf(reply.headers.traceparent), TRACE_ID);
      assert.notEqual(reply.headers.traceparent, traceparent, 'it is a span of its own');
    }
  });

  it('returns a traceparent when the body is rejected unread', async (t) => {
    const config = defineConfig({ ...baseConfig, limits: { bodyBytes: 1000 } });
    const { parley, agent } = await testParley(t, { config });
    const { key } = await agent('requester');
    const server = await startHttpServer(parley.handle, 0, '127.0.0.1');
    t.after(() => server.close());
    const headers = { traceparent, authorization: `Bearer ${key}` };
    const request = { method: 'POST', headers, body: 'x'.repeat(1001) };
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/messages`, request);
    assert.equal(response.status, 413);
    assert.equal(traceIdOf(response.headers.get('traceparent') ?? undefined), TRACE_ID);
  });

  it('creates a traceparent when the caller sends none or an invalid one', async (t) => {
    const { admin } = await testParley(t);
    const bad = [
      '',
      'x',
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
      `ff-${TRACE_ID}-${PARENT}-01`,
    ];
    const made = new Set<string | undefined>();
    for (const sent of bad) {
      const reply = await admin.call('GET', '/v1/tasks', undefined, { traceparent: sent });
      assert.equal(reply.status, 200);
      assert.match(reply.headers.traceparent ?? '', TRACEPARENT);
      made.add(traceIdOf(reply.headers.traceparent));
    }
    assert.equal(made.size, bad.length);
  });

  it('keeps the trace of the request in every view and event of its task', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const request = taskRequest('requester');
    await requester.call('POST', '/v1/messages', request, { traceparent });
    await worker.claim();
    await worker.complete(request.id);
    await settled(parley);
    assert.equal(traceIdOf((await requester.task(request.id)).traceparent), TRACE_ID);
    const { events } = (await requester.call('GET', '/v1/events')).body;
    assert.equal(events.length, 3);
    for (const { data } of events) assert.equal(traceIdOf(data.traceparent), TRACE_ID);
  });
});
