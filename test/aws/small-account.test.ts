import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley(
  { after },
  {
    app: { file: 'test/aws/small-account-app/app.ts', out: '.cache/small-account-template' },
    template: { accountConcurrency: 10 },
  },
);

const PATIENCE_MS = 60_000;
const TASKS = 12;

/** As an agent does: a call that is throttled comes again. */
const persistent = async <T>(call: () => Promise<{ status: number; body: T }>, wanted: number): Promise<T> =>
  eventually(async () => {
    const { status, body } = await call();
    assert.equal(status, wanted, JSON.stringify(body));
    return body;
  }, PATIENCE_MS);

const worker = (): Promise<TestAgent> => parley.agent(`lance-${randomUUID()}`, { domains: ['security'] });

describe('a new account, in which ten functions run at the same time', { concurrency: 1 }, () => {
  it('works off what comes at once while more agents wait than there is room for, and tells of every end', async () => {
    const tim = await parley.agent(`tim-${randomUUID()}`, {});
    const agents = await Promise.all([worker(), worker(), worker(), worker(), worker(), worker()]);
    const done = new Set<string>();
    let isOver = false;
    const works = agents.map(async (agent) => {
      while (!isOver) {
        const { status, body } = await agent.call('POST', '/v1/claims', { wait: 5 });
        for (const { message } of status === 200 ? body.tasks : []) {
          await persistent(() => agent.complete(message.id), 202);
          done.add(message.id);
        }
      }
    });
    const ids = Array.from({ length: TASKS }, () => randomUUID() as string);
    await Promise.all(ids.map((id) => persistent(() => tim.call('POST', '/v1/messages', requestOf(tim.id, id)), 202)));
    await eventually(() => assert.deepEqual([...done].sort(), ids.toSorted()), PATIENCE_MS);
    isOver = true;
    await Promise.all(works);
    const inbox = await persistent(() => tim.call('GET', '/v1/inbox?max=100'), 200);
    assert.equal(inbox.messages.length, TASKS);
    // The stream has had its turn, too.
    await eventually(async () => {
      const { events } = await persistent(() => tim.call('GET', '/v1/events?type=task.completed&limit=500'), 200);
      assert.equal(new Set(events.map(({ data }: { data: { taskId: string } }) => data.taskId)).size, TASKS);
    }, PATIENCE_MS);
  });

  it('sweeps in the midst of it', async () => {
    const { ok } = await parley.invoke(parley.findFunctionName('sweep'), {});
    assert.equal(ok, true);
  });
});

const requestOf = (from: string, id: string) => ({
  id,
  version: '1.0',
  type: 'task.request',
  from,
  timestamp: '2026-02-08T15:00:00Z',
  payload: { task: 'security.briefing' },
});
