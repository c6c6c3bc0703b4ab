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
  it('is on every answer, good or bad, under the trace of the caller', async (t) => {
    const { agent, transport, admin } = await testParley(t);
    const tim = await agent('tim');
    const nobody = callerWith(transport, undefined);
    const headers = { traceparent };
    const replies = [
      await tim.call('POST', '/v1/messages', taskRequest('tim'), headers),
      await tim.call('GET', '/v1/tasks', undefined, headers),
      await tim.call('POST', '/v1/messages', '{', headers),
      await tim.call('POST', '/v1/messages', {}, headers),
      await tim.call('GET', '/nowhere', undefined, headers),
      await tim.call('PATCH', '/v1/tasks', undefined, headers),
      await tim.call('GET', '/v1/tasks/%', undefined, headers),
      await nobody.call('GET', '/v1/tasks', undefined, headers),
      await nobody.call('GET', '/healthz', undefined, headers),
      await nobody.call('GET', '/openapi.json', undefined, headers),
      await admin.call('DELETE', '/v1/agents/tim', undefined, headers),
    ];
    for (const reply of replies) {
      assert.match(reply.headers.traceparent ?? '', TRACEPARENT);
      assert.equal(traceIdOf(reply.headers.traceparent), TRACE_ID);
      assert.notEqual(reply.headers.traceparent, traceparent, 'it is a span of its own');
    }
  });

  it('is on the answer to a body that is never read', async (t) => {
    const config = defineConfig({ ...baseConfig, limits: { bodyBytes: 1000 } });
    const { parley, agent } = await testParley(t, { config });
    const { key } = await agent('tim');
    const server = await startHttpServer(parley.handle, 0, '127.0.0.1');
    t.after(() => server.close());
    const headers = { traceparent, authorization: `Bearer ${key}` };
    const request = { method: 'POST', headers, body: 'x'.repeat(1001) };
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/messages`, request);
    assert.equal(response.status, 413);
    assert.equal(traceIdOf(response.headers.get('traceparent') ?? undefined), TRACE_ID);
  });

  it('is made where the caller sends none that can be read', async (t) => {
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

  it('of the request stays with its task, in every view and event', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const request = taskRequest('tim');
    await tim.call('POST', '/v1/messages', request, { traceparent });
    await galahad.claim();
    await galahad.complete(request.id);
    await settled(parley);
    assert.equal(traceIdOf((await tim.task(request.id)).traceparent), TRACE_ID);
    const { events } = (await tim.call('GET', '/v1/events')).body;
    assert.equal(events.length, 3);
    for (const { data } of events) assert.equal(traceIdOf(data.traceparent), TRACE_ID);
  });
});
