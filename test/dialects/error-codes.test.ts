import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { agentOsMessage, content } from '../support/agent-os-agent.ts';
import { about } from '../support/api.ts';
import { type Speaker, speakers, type Wire } from '../support/speakers.ts';
import { testParley } from '../support/test-parley.ts';

const speakerOf = (dialect: string): Speaker => {
  const speaker = speakers.find((one) => one.dialect === dialect);
  assert.ok(speaker);
  return speaker;
};

/** A task of the dialect that an agent of another has claimed. */
const claimed = async (t: Parameters<typeof testParley>[0], asking: Speaker, doing: Speaker) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', { dialect: asking.dialect });
  const worker = await parley.agent('worker', { dialect: doing.dialect });
  const reply = await requester.send(asking.request('requester', 'worker', { scope: 'daily' }));
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  await settled(parley);
  const called = doing.calledIn(await doing.take(worker));
  const id: string = reply.body.taskId ?? reply.body.agentTurnId;
  const fail = async (payload: object, retryCount = 0) => {
    const messages: Record<string, () => object> = {
      'round-table': () => about('task.failed', 'worker', called, payload),
      'agent-os': () => agentOsMessage('error', 'worker', 'requester', { replyTo: called, payload: content(payload) }),
      'task-format': () => ({ id: called, status: 'failed', error: payload, metadata: { retryCount } }),
    };
    const { status, body } = await worker.send(messages[doing.dialect]?.() ?? {});
    assert.equal(status, 202, JSON.stringify(body));
    await settled(parley);
  };
  return { parley, requester, worker, id, called, fail };
};

/** What a failure says of itself in each dialect that has codes. */
const CODE_IN: Record<string, (message: Wire) => object> = {
  'round-table': ({ payload: { error, retryable, parley } }) => ({ code: error, retryable, original: parley?.code }),
  'agent-os': ({ payload: { content: said } }) => ({
    code: said.code,
    retryable: said.recoverable,
    original: said.parley?.code,
  }),
  'task-format': ({ error, metadata }) => ({
    code: error.code,
    retryable: error.recoverable,
    original: metadata.parley.errorCode,
  }),
};

const OPEN = ['round-table', 'agent-os', 'task-format'].map(speakerOf);

describe('An error code that no document has', () => {
  for (const speaker of OPEN) {
    it(`reaches a ${speaker.dialect} requester as its ${speaker.dialect} holder said it`, async (t) => {
      const { requester, fail } = await claimed(t, speaker, speaker);
      await fail({ code: 'Out of coffee', error: 'Out of coffee', message: 'm', retryable: false, recoverable: false });
      const [message] = await requester.inbox(20);
      assert.deepEqual(CODE_IN[speaker.dialect]?.(message), {
        code: 'Out of coffee',
        retryable: false,
        original: undefined,
      });
    });
  }

  it('of a Round Table holder is tried again once, as internal_error is', async (t) => {
    const { parley, requester, worker, id, fail } = await claimed(
      t,
      speakerOf('round-table'),
      speakerOf('round-table'),
    );
    for (const attempt of [1, 2]) {
      assert.equal((await requester.task(id)).attempt, attempt);
      await fail({ error: 'constructor' });
      parley.clock.advance(60_000);
      await settled(parley);
      await worker.claim();
    }
    const { state, attempt } = await requester.task(id);
    assert.deepEqual([state, attempt], ['failed', 2]);
  });
});

describe('The word of a holder on whether its failure is recoverable', () => {
  for (const [dialect, code] of [
    ['task-format', 'INVALID_INPUT'],
    ['agent-os', 'VALIDATION_FAILED'],
  ] as const) {
    it(`stands in ${dialect} beside a code that is not tried again`, async (t) => {
      const { requester, id, fail } = await claimed(t, speakerOf(dialect), speakerOf(dialect));
      await fail({ code, message: 'The unit is missing.', recoverable: true });
      const [message] = await requester.inbox(20);
      assert.deepEqual(CODE_IN[dialect]?.(message), { code, retryable: true, original: undefined });
      const { state, attempt, error } = await requester.task(id);
      assert.deepEqual([state, attempt, error.recoverable], ['failed', 1, true]);
    });
  }
});

/** How each dialect says that a task was cancelled. */
const CANCEL_IN: Record<string, (message: Wire) => unknown[]> = {
  'round-table': ({ type, payload }) => [type, payload.error, payload.retryable],
  'agent-os': ({ type, payload }) => [type, payload.content.code, payload.content.recoverable],
  'task-format': ({ status }) => [status],
  'message-routing': ({ payload }) => [payload.status, payload.parley.status],
  'common-ground': ({ payload }) => [payload.status],
  native: ({ status, code, retryable }) => [status, code, retryable],
  a2a: ({ task }) => [task.status.state],
};
const CANCELLED: Record<string, unknown[]> = {
  'round-table': ['task.failed', 'cancelled', false],
  'agent-os': ['error', 'CANCELLED', false],
  'task-format': ['cancelled'],
  'message-routing': ['failure', 'cancelled'],
  'common-ground': ['canceled'],
  native: ['cancelled', 'cancelled', false],
  a2a: ['TASK_STATE_CANCELED'],
};

describe('A cancelled task', () => {
  for (const { dialect } of speakers) {
    it(`reads as cancelled in ${dialect}, for its holder`, async (t) => {
      const asking = speakerOf(dialect === 'task-format' ? 'round-table' : 'task-format');
      const { parley, requester, worker, id } = await claimed(t, asking, speakerOf(dialect));
      assert.equal((await requester.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
      await settled(parley);
      const [message] = await worker.inbox(20);
      assert.deepEqual(CANCEL_IN[dialect]?.(message), CANCELLED[dialect]);
    });

    it(`reads as cancelled in ${dialect}, for a requester whose holder gave it up`, async (t) => {
      const doing = speakerOf(dialect === 'round-table' ? 'task-format' : 'round-table');
      const { parley, requester, worker, called } = await claimed(t, speakerOf(dialect), doing);
      const message =
        doing.dialect === 'task-format'
          ? { id: called, status: 'cancelled' }
          : about('task.failed', 'worker', called, { error: 'cancelled', message: 'not today' });
      assert.equal((await worker.send(message)).status, 202);
      await settled(parley);
      const [failure] = await requester.inbox(20);
      assert.deepEqual(CANCEL_IN[dialect]?.(failure), CANCELLED[dialect]);
    });
  }
});
