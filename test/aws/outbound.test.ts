import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { otlpReceiver } from '../support/otlp-receiver.ts';
import { isSigned, webhookReceiver } from '../support/webhook-receiver.ts';
import { runParley } from './running-parley.ts';

const collector = await otlpReceiver({ after });
const parley = await runParley({ after }, { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';

/** Not before the test begins, and well within the first delay of the schedule. */
const RETRY_PATIENCE_MS = 60_000;

describe('On AWS', () => {
  it('a webhook is delivered, signed and in order, and what fails is sent again', async () => {
    const receiver = await webhookReceiver({ after });
    const [requester, worker] = [await parley.agent('told'), await parley.agent('teller')];
    const put = await parley.admin.call('PUT', '/v1/webhooks/hook', {
      url: receiver.url,
      types: ['task.requested', 'task.completed'],
      agent: requester.id,
    });
    assert.equal(put.status, 201, JSON.stringify(put.body));
    receiver.answers.status = 503;
    const id = await requester.request({ to: worker.id });
    const [failed] = await receiver.waitFor(1);
    receiver.answers.status = 204;
    assert.equal((await worker.claim({ wait: 20 })).length, 1);
    assert.equal((await worker.complete(id)).status, 202);
    const calls = await eventually(() => {
      assert.equal(receiver.calls.length, 3);
      return receiver.calls;
    }, RETRY_PATIENCE_MS);
    assert.deepEqual(
      calls.map(({ body }) => [body.type, body.data.taskId]),
      ['task.requested', 'task.requested', 'task.completed'].map((type) => [type, id]),
    );
    assert.equal(calls[1]?.headers['webhook-id'], failed?.headers['webhook-id']);
    for (const call of calls) assert.ok(isSigned(call, put.body.secret));
    const { body } = await eventually(async () => {
      const reply = await parley.admin.call('GET', '/v1/webhooks/hook/deliveries');
      assert.equal(reply.body.deliveries.length, 3);
      return reply;
    });
    assert.deepEqual(body.deliveries.map(({ status }: { status: number }) => status).toReversed(), [503, 204, 204]);
  });

  it('the functions that carry out what follows from changes export spans', async () => {
    const [requester, worker] = [await parley.agent('tracer'), await parley.agent('traced')];
    const message = taskRequest(requester.id, { to: worker.id });
    const headers = { traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-01` };
    assert.equal((await requester.call('POST', '/v1/messages', message, headers)).status, 202);
    assert.equal((await worker.claim({ wait: 20 })).length, 1);
    assert.equal((await worker.complete(message.id)).status, 202);
    const spans = await eventually(() => {
      const own = collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
      const found = new Map(own.map((span) => [span.spanId, span]));
      assert.equal(found.size, 4, own.map(({ name }) => name).join(', '));
      return [...found.values()];
    }, 30_000);
    const [send, receive, process, settle] = ['send', 'receive', 'process', 'settle'].map((operation) =>
      spans.find(({ attributes }) => attributes['messaging.operation.type'] === operation),
    );
    assert.deepEqual(
      [send, receive, process, settle].map((span) => span?.parentSpanId),
      [CALLER_SPAN, send?.spanId, send?.spanId, process?.spanId],
    );
    assert.deepEqual(send?.resource, {
      'service.name': 'parley',
      'deployment.environment.name': 'test',
      'cloud.provider': 'aws',
    });
    assert.deepEqual([collector.invalid, parley.trouble], [[], []]);
  });
});
