import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reply, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { agent, admin } = await deployment();
const taskFormat = { dialect: 'task-format', capabilities: [] };
const PATIENCE_MS = 30_000;

interface Line {
  event: string;
  agent?: string;
  attempt?: number;
  message?: string;
  answer?: unknown;
  error?: { code: string };
}

const kitchen = async () => {
  const [tim, cook] = [await agent('tim', taskFormat), await agent('cook', taskFormat)];
  const asked = async (overrides: object = {}): Promise<string> => {
    const request = tfRequest({ routing: { target: cook.id }, ...overrides });
    assert.equal((await tim.send(request)).status, 202);
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    return request.id;
  };
  return { tim, cook, asked };
};

const ok = async (reply: Promise<Reply>): Promise<void> => {
  const { status, body } = await reply;
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
};

const ask = (cook: TestAgent, id: string, prompt: string): Promise<void> =>
  ok(cook.send({ id, status: 'input_required', input: { prompt } }));

const told = async (reader: TestAgent, id: string, wanted: Line[]): Promise<void> =>
  eventually(async () => {
    const { history } = await reader.task(id);
    const lines = history.map(({ at: _at, ...line }: Line & { at: string }) => line);
    assert.deepEqual(lines, wanted);
  }, PATIENCE_MS);

describe('the history of a task', () => {
  it('has each question with who asked it, and each answer with who gave it', async () => {
    const { tim, cook, asked } = await kitchen();
    const id = await asked();
    const begun = [
      { event: 'requested', agent: tim.id },
      { event: 'claimed', agent: cook.id, attempt: 1 },
    ];
    await ask(cook, id, 'Which oil?');
    const first = { event: 'input_required', agent: cook.id, attempt: 1, message: 'Which oil?' };
    await told(tim, id, [...begun, first]);
    await ok(tim.call('POST', `/v1/tasks/${id}/input`, { input: 'olive' }));
    const answered = { event: 'input_given', agent: tim.id, attempt: 1, answer: 'olive' };
    await told(tim, id, [...begun, first, answered]);
    await ask(cook, id, 'How much?');
    await ok(admin.call('POST', `/v1/tasks/${id}/input`, { input: { spoons: 2 } }));
    await ok(cook.send({ id, status: 'completed', result: {} }));
    await told(tim, id, [
      ...begun,
      first,
      answered,
      { event: 'input_required', agent: cook.id, attempt: 1, message: 'How much?' },
      { event: 'input_given', agent: 'admin', attempt: 1, answer: { spoons: 2 } },
      { event: 'completed', agent: cook.id, attempt: 1 },
    ]);
  });

  it('says who cancelled, though another held the task, and so does the event', async () => {
    const { tim, cook, asked } = await kitchen();
    for (const [by, name] of [
      [tim, tim.id],
      [admin, 'admin'],
    ] as const) {
      const id = await asked();
      await ask(cook, id, 'Which oil?');
      await ok(by.call('POST', `/v1/tasks/${id}/cancel`));
      await told(tim, id, [
        { event: 'requested', agent: tim.id },
        { event: 'claimed', agent: cook.id, attempt: 1 },
        { event: 'input_required', agent: cook.id, attempt: 1, message: 'Which oil?' },
        { event: 'cancelled', agent: name, attempt: 1 },
      ]);
      assert.equal((await tim.task(id)).cancelledBy, name);
      await eventually(async () => {
        const { events } = (await cook.call('GET', '/v1/events?type=task.cancelled&limit=500')).body;
        const event = events.find(({ data }: { data: { taskId: string } }) => data.taskId === id);
        assert.deepEqual([event?.data.cancelledBy, event?.data.agent], [name, cook.id]);
      }, PATIENCE_MS);
    }
  });

  it('says who lost an attempt and why, and who had it run again', async () => {
    const { tim, cook, asked } = await kitchen();
    const id = await asked({ retryPolicy: { maxAttempts: 2, initialDelay: 0 } });
    const error = { code: 'AGENT_BUSY', message: 'no hands' };
    await ask(cook, id, 'Which oil?');
    await ok(cook.send({ id, status: 'failed', error }));
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    await ok(cook.send({ id, status: 'failed', error }));
    await ok(tim.call('POST', `/v1/tasks/${id}/retry`));
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    await ok(cook.send({ id, status: 'completed', result: {} }));
    await told(tim, id, [
      { event: 'requested', agent: tim.id },
      { event: 'claimed', agent: cook.id, attempt: 1 },
      { event: 'input_required', agent: cook.id, attempt: 1, message: 'Which oil?' },
      { event: 'released', agent: cook.id, attempt: 1, error },
      { event: 'claimed', agent: cook.id, attempt: 2 },
      { event: 'failed', agent: cook.id, attempt: 2, error },
      { event: 'requested', agent: tim.id, attempt: 2 },
      { event: 'claimed', agent: cook.id, attempt: 3 },
      { event: 'completed', agent: cook.id, attempt: 3 },
    ]);
  });

  it('does not blame who gave the task back for what went wrong before', async () => {
    const { tim, cook, asked } = await kitchen();
    const id = await asked({ retryPolicy: { maxAttempts: 2, initialDelay: 0 } });
    const error = { code: 'AGENT_BUSY', message: 'no hands' };
    await ok(cook.send({ id, status: 'failed', error }));
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    await ok(cook.call('POST', `/v1/tasks/${id}/release`));
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    await ok(cook.send({ id, status: 'completed', result: {} }));
    await told(tim, id, [
      { event: 'requested', agent: tim.id },
      { event: 'claimed', agent: cook.id, attempt: 1 },
      { event: 'released', agent: cook.id, attempt: 1, error },
      { event: 'claimed', agent: cook.id, attempt: 2 },
      { event: 'released', agent: cook.id, attempt: 2 },
      { event: 'claimed', agent: cook.id, attempt: 3 },
      { event: 'completed', agent: cook.id, attempt: 3 },
    ]);
  });
});
