import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { throttledError } from '../../local/cloudformation-runner/index.ts';
import { about, type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { broken } from './faults.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley({ after });

const TASKS = 20;
const WORKERS = 3;

/** The answer to a call, once the system finds the time for it. */
const patient = (call: () => Promise<Reply>): Promise<Reply> =>
  eventually(async () => {
    const reply = await call();
    assert.ok(reply.status < 500 && reply.status !== 429, `${reply.status} ${JSON.stringify(reply.body)}`);
    return reply;
  }, 60_000);

/** Claims and completes until all is done; the tasks that it completed. */
const work = async (worker: TestAgent, done: Set<string>): Promise<string[]> => {
  const mine: string[] = [];
  while (done.size < TASKS) {
    const { body } = await patient(() => worker.call('POST', '/v1/claims', { max: 5, wait: 1 }));
    for (const { message } of body.tasks) {
      const result = about('task.result', worker.id, message.id, {
        status: 'completed',
        result: { content: worker.id },
      });
      const reply = await patient(() => worker.send(result));
      // Whoever lost its lease on the way is refused, and another one has the task.
      if (reply.status >= 300) continue;
      mine.push(message.id);
      done.add(message.id);
    }
  }
  return mine;
};

describe('a service that throttles', () => {
  it('slows everything and loses nothing: every task comes to one result', { timeout: 240_000 }, async () => {
    const tim = await parley.agent('tim');
    const workers = await Promise.all(Array.from({ length: WORKERS }, (_, n) => parley.agent(`galahad-${n}`)));
    let calls = 0;
    const isUnlucky = (): boolean => {
      calls += 1;
      return calls % 3 === 0;
    };
    const isOurs = ({ service, caller }: { service: string; caller: string }): boolean =>
      (service === 'dynamodb' || service === 'sqs') && caller.startsWith('parley-') && !caller.endsWith('mapping');
    const fault = broken(parley, (call) => isOurs(call) && isUnlucky(), throttledError);

    const messages = Array.from({ length: TASKS }, () => taskRequest(tim.id));
    const done = new Set<string>();
    const working = workers.map((worker) => work(worker, done));
    const sent = await Promise.all(messages.map((message) => patient(() => tim.send(message))));
    assert.ok(sent.every(({ status }) => status < 300));
    const completed = (await Promise.all(working)).flat();
    fault.end();

    assert.ok(fault.met > 50, `only ${fault.met} calls were throttled`);
    const ids = messages.map(({ id }) => id).sort();
    assert.deepEqual(completed.sort(), ids);
    const inbox = (await tim.call('GET', '/v1/inbox?max=100')).body.messages;
    const results = inbox.map(({ correlationId }: { correlationId: string }) => correlationId);
    assert.deepEqual(results.sort(), ids);
    await eventually(async () => {
      const { events } = (await tim.call('GET', '/v1/events?type=task.completed&limit=500')).body;
      assert.equal(new Set(events.map(({ id }: { id: string }) => id)).size, TASKS);
    }, 60_000);
    for (const worker of workers) assert.deepEqual(await worker.claim({ wait: 1 }), []);
  });
});
