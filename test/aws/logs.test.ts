import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { broken, by } from './faults.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley({ after });

/** In every place where content can be; none of them may come to be in a log. */
const MARKER = `marker${randomUUID().replaceAll('-', '')}`;

const Line = z.looseObject({
  level: z.string(),
  message: z.string(),
  service: z.string(),
  function_request_id: z.string(),
  correlationId: z.string().optional(),
  traceparent: z.string().optional(),
  agent: z.string().optional(),
  taskId: z.string().optional(),
  path: z.string().optional(),
});
type Line = z.output<typeof Line>;

const logText = (): string => {
  const folder = join(parley.dir, 'logs');
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('');
};

/** What the functions' own logger wrote: metrics have another form, and Lambda itself tells what it ended. */
const lines = (): Line[] =>
  logText()
    .split('\n')
    .filter((text) => text.includes('"level"'))
    .map((text) => Line.parse(JSON.parse(text)));

const notWorkedOff = (): Line[] => lines().filter(({ message }) => message === 'queue message failed');

const HTTP_FUNCTIONS = ['ingest', 'claims', 'tasks', 'api'];

describe('the logs of all functions', { concurrency: 1 }, () => {
  const keys: string[] = [];
  const ids: string[] = [];
  const traced = `00-${randomUUID().replaceAll('-', '')}-${'1'.repeat(16)}-01`;

  const claimed = async (galahad: TestAgent): Promise<string> => {
    const [task] = await galahad.claim({ wait: 10 });
    assert.ok(task);
    return task.message.id;
  };

  /** Lives that go well, are refused, go wrong inside, and are cut off. */
  before(async () => {
    const [tim, galahad] = [await parley.agent('tim', {}), await parley.agent('galahad', { domains: ['security'] })];
    keys.push(tim.key, galahad.key);
    const payload = { params: { text: MARKER } };
    const request = taskRequest(tim.id, { payload });
    ids.push(request.id);
    const sent = await tim.call('POST', '/v1/messages', request, { traceparent: traced });
    assert.equal(sent.status, 202);
    await tim.send({ ...request, payload: { ...request.payload, params: { text: `${MARKER} other` } } });
    await claimed(galahad);
    await galahad.progress(request.id, { percent: 10, message: MARKER });
    await galahad.complete(request.id, { format: 'markdown', content: MARKER });
    await tim.task(request.id);
    await tim.inbox(5);
    await tim.call('GET', '/v1/events');
    await tim.call('GET', '/v1/tasks');
    await tim.call('POST', '/v1/cards', { type: 'agent.thought', content: MARKER });
    await tim.call('POST', '/v1/turns', { agent_id: 'nobody', correlation_id: MARKER });
    await tim.send({ ...taskRequest(tim.id), payload: MARKER });
    await tim.call('POST', '/v1/messages', `{"${MARKER}`);
    await parley.transport('GET', '/v1/inbox', { authorization: `Bearer ${tim.key}x` }, undefined);

    const large = await tim.request({ payload: { params: { text: MARKER.repeat(10_000) } } });
    ids.push(await claimed(galahad));
    await galahad.fail(large, { error: 'rate_limited', message: MARKER, retryAfterSeconds: 0 });
    await claimed(galahad);
    await galahad.fail(large, { error: 'skill_missing', message: MARKER, details: { text: MARKER } });

    const batch = Array.from({ length: 2 }, () => taskRequest(tim.id, { payload }));
    await tim.send({ messages: batch });
    ids.push(...batch.map(({ id }) => id));
    const eagerEnqueue = broken(parley, (call) => by('ingest')(call) && call.service === 'sqs');
    ids.push(await tim.request({ payload }));
    eagerEnqueue.end();
    const table = broken(parley, by('ingest', 'PutItem'));
    assert.equal((await tim.send(taskRequest(tim.id, { payload }))).status, 500);
    table.end();
    const effects = broken(parley, by('dispatch', 'SendMessageBatch'));
    ids.push(await tim.request({ payload }));
    await eventually(() => assert.ok(lines().some(({ message }) => message === 'change dispatch failed')), 30_000);
    effects.end();
    const rescue = broken(parley, by('dead-letters', 'UpdateItem'));
    const given = { project: 'default', group: request.id, body: { taskId: request.id, queueGeneration: 1 } };
    const place = { MessageGroupId: request.id, MessageDeduplicationId: request.id };
    await parley.aws('sqs', 'SendMessage', {
      QueueUrl: parley.queue('default-dead.fifo'),
      MessageBody: JSON.stringify(given),
      ...place,
    });
    await parley.aws('sqs', 'SendMessage', { QueueUrl: parley.queue('delay'), MessageBody: '{}' });
    await eventually(() => assert.equal(notWorkedOff().length, 2, JSON.stringify(notWorkedOff())), 30_000);
    rescue.end();
    const reports = [await claimed(galahad)].map((id) =>
      about('task.result', galahad.id, id, { status: 'completed', result: { content: MARKER } }),
    );
    assert.equal((await galahad.call('POST', '/v1/claims', { messages: reports })).status, 200);
  });

  it('say of every request which one it was, in which trace, and who asked', () => {
    const own = lines().filter(({ service }) => HTTP_FUNCTIONS.includes(service));
    assert.deepEqual([...new Set(own.map(({ service }) => service))].sort(), HTTP_FUNCTIONS.toSorted());
    for (const line of own) {
      assert.ok(line.correlationId && line.traceparent, JSON.stringify(line));
      const isUnknown = line.status === 401 || line.message === 'authentication failed';
      assert.ok(line.agent || isUnknown, JSON.stringify(line));
    }
    assert.ok(own.some(({ traceparent }) => traceparent === traced));
    // Nothing of one request is said of another.
    const requests = Map.groupBy(own, ({ function_request_id: request }) => request);
    for (const [, said] of requests) assert.equal(new Set(said.map(({ correlationId }) => correlationId)).size, 1);
  });

  it('name the task wherever a request is about one', () => {
    const text = lines();
    for (const id of ids)
      assert.ok(
        text.some(({ taskId }) => taskId?.split(' ').includes(id)),
        `nothing of ${id}`,
      );
    const aboutTasks = text.filter(({ path }) => path?.match(/^\/v1\/tasks\/./));
    assert.ok(aboutTasks.length > 0);
    for (const line of aboutTasks) assert.ok(line.taskId && line.path?.includes(line.taskId), JSON.stringify(line));
    const refused = text.filter(({ service, status }) => service === 'ingest' && status === 409);
    assert.ok(refused.length > 0 && refused.every(({ taskId }) => taskId !== undefined));
    const failed = text.filter(({ service, level }) => service === 'ingest' && level !== 'INFO');
    assert.ok(failed.length >= 2, 'the failed eager enqueue and the failed write are logged');
    assert.ok(
      failed.every(({ taskId, agent }) => taskId && agent),
      JSON.stringify(failed),
    );
  });

  it('say of a change that could not be carried out which task it was of, whose, and in which trace', () => {
    const failed = lines().filter(({ message }) => message === 'change dispatch failed');
    const tasks = failed.filter(({ record }) => String(record).includes('#task#'));
    assert.ok(tasks.length > 0, JSON.stringify(failed));
    for (const line of tasks) assert.ok(line.taskId && line.agent && line.traceparent, JSON.stringify(line));
  });

  it('say of a message of a queue that it could not be worked off, and which task it is about where that can be read', () => {
    const told = new Map(notWorkedOff().map((line) => [line.service, line]));
    assert.equal(told.get('dead-letters')?.taskId, ids[0]);
    assert.match(String(told.get('dead-letters')?.error), /KmsAccessDenied/);
    assert.ok(told.get('due')?.messageId);
  });

  it('hold no key and nothing of what the messages say', () => {
    const text = logText();
    assert.ok(text.includes('"answered"'));
    assert.ok(!text.includes(MARKER), text.slice(text.indexOf(MARKER) - 1000, text.indexOf(MARKER) + 100));
    assert.doesNotMatch(text, /prl_/);
    for (const key of keys) assert.ok(!text.includes(key.split('.')[2] ?? key));
  });
});
