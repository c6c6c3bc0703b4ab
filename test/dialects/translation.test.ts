import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { agentOsAgent, content } from '../support/agent-os-agent.ts';
import { type Speaker, speakers } from '../support/speakers.ts';
import { testParley } from '../support/test-parley.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;

const KINDS: Record<string, [result: string, failure: string]> = {
  'round-table': ['task.result', 'task.failed'],
  'agent-os': ['response', 'error'],
  'task-format': ['completed', 'failed'],
  'message-routing': ['result success', 'result failure'],
  'common-ground': ['success', 'failed'],
  native: ['result', 'failure'],
  a2a: ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED'],
};

/** A retryable and a final code of each dialect, and the codes into which they are translated. */
const CODES: Record<string, { code: string; original?: string; retryable: boolean; read: Record<string, string> }[]> = {
  'round-table': [
    { code: 'rate_limited', retryable: true, read: { 'agent-os': 'SOURCE_ERROR', 'task-format': 'RATE_LIMITED' } },
    {
      code: 'invalid_params',
      retryable: false,
      read: { 'agent-os': 'VALIDATION_FAILED', 'task-format': 'INVALID_INPUT' },
    },
    { code: 'out_of_coffee', retryable: true, read: { 'agent-os': 'SOURCE_ERROR' } },
    { code: '__proto__', retryable: true, read: { 'agent-os': 'SOURCE_ERROR' } },
  ],
  'agent-os': [
    { code: 'SOURCE_ERROR', retryable: true, read: { 'round-table': 'model_error', 'task-format': 'MCP_ERROR' } },
    {
      code: 'SAFETY_VIOLATION',
      retryable: false,
      read: { 'round-table': 'internal_error', 'task-format': 'INTERNAL_ERROR' },
    },
    { code: 'OUT_OF_COFFEE', retryable: true, read: { 'round-table': 'internal_error' } },
  ],
  'message-routing': [
    {
      code: 'failure',
      original: 'internal_error',
      retryable: false,
      read: {
        'round-table': 'internal_error',
        'agent-os': 'SOURCE_ERROR',
        'task-format': 'INTERNAL_ERROR',
        'common-ground': 'internal_error',
        native: 'internal_error',
        a2a: 'internal_error',
      },
    },
  ],
  'common-ground': [
    {
      code: 'timeout',
      retryable: true,
      read: { 'round-table': 'timeout', 'agent-os': 'TIMEOUT', 'task-format': 'TIMEOUT' },
    },
    {
      code: 'protocol_violation',
      retryable: false,
      read: { 'round-table': 'internal_error', 'agent-os': 'SOURCE_ERROR', 'task-format': 'protocol_violation' },
    },
  ],
  native: [
    { code: 'busy', retryable: true, read: { 'round-table': 'internal_error', 'agent-os': 'SOURCE_ERROR' } },
    { code: 'broken', retryable: false, read: { 'round-table': 'internal_error', 'agent-os': 'SOURCE_ERROR' } },
  ],
  a2a: [{ code: 'busy', retryable: true, read: { 'round-table': 'internal_error', 'agent-os': 'SOURCE_ERROR' } }],
  'task-format': [
    { code: 'MCP_RATE_LIMITED', retryable: true, read: { 'round-table': 'rate_limited', 'agent-os': 'SOURCE_ERROR' } },
    {
      code: 'constructor',
      retryable: false,
      read: { 'round-table': 'internal_error', 'agent-os': 'SOURCE_ERROR' },
    },
  ],
};

const start = async (t: Parameters<typeof testParley>[0], asking: Speaker, doing: Speaker) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', { dialect: asking.dialect, inbox: 'ends' });
  const worker = await parley.agent('worker', { dialect: doing.dialect });
  const request = asking.request('requester', 'worker', { scope: 'daily' });
  const reply = await requester.call('POST', '/v1/messages', request, { traceparent });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  const say = async (message: object) => {
    const { status, body } = await doing.say(worker, message);
    assert.equal(status, 202, JSON.stringify(body));
    await settled(parley);
  };
  // A CommonGround call becomes a task asynchronously.
  await settled(parley);
  const taskId: string = reply.body.taskId ?? reply.body.agentTurnId;
  return { parley, requester, worker, taskId, name: request.id ?? asking.nameOf(taskId), say };
};

for (const asking of speakers) {
  for (const doing of speakers.filter((speaker) => speaker !== asking)) {
    describe(`task from ${asking.dialect} to ${doing.dialect}`, () => {
      for (const { code, original = code, retryable, read } of CODES[doing.dialect] ?? []) {
        it(`fails a task from ${asking.dialect} ${retryable ? 'after retries' : 'at once'} with ${code} of ${doing.dialect}`, async (t) => {
          const { parley, requester, worker, name, say } = await start(t, asking, doing);
          let tries = 0;
          for (let round = 0; round < 5; round++) {
            const message = await doing.take(worker);
            if (!message) continue;
            tries++;
            if (tries > 1) assert.equal(doing.readLastError(message), 'it broke');
            const talk = { from: worker, to: 'requester', taskId: doing.calledIn(message) };
            await say(doing.fail(talk, code, 'it broke', round));
            parley.clock.advance(60_000);
            await settled(parley);
          }
          assert.equal(tries > 1, retryable, `${tries} tries`);
          const [failure] = await requester.inbox(20);
          assert.deepEqual(asking.readFailure(failure), {
            kind:
              code === 'invalid_params' && asking.dialect === 'a2a'
                ? 'TASK_STATE_REJECTED'
                : KINDS[asking.dialect]?.[1],
            taskId: name,
            code: asking.dialect === 'message-routing' ? 'failure' : (read[asking.dialect] ?? code),
            retryable,
            text: 'it broke',
            original,
          });
        });
      }
    });
  }
}

describe('AgentOS direct message', () => {
  for (const { dialect, readNote, idIn } of speakers) {
    it(`delivers an AgentOS gap whole in ${dialect}, and acknowledges it by its id there`, async (t) => {
      const parley = await testParley(t);
      const brain = await agentOsAgent(parley, 'one-brain');
      const reader = await parley.agent('reader', { dialect });
      const gap = await brain.say('gap', 'reader', { payload: content({ missing: 'the harvest of 2023' }) });
      const [message] = await reader.inbox(20);
      const read = { type: 'agent-os.gap', from: 'one-brain', content: { missing: 'the harvest of 2023' } };
      assert.deepEqual(readNote(message), read);
      assert.ok(JSON.stringify(message).includes(JSON.stringify(gap.context)));
      assert.equal((await reader.call('POST', '/v1/inbox/ack', { ids: [idIn(message)] })).body.acknowledged, 1);
      assert.deepEqual(await reader.inbox(), []);
    });
  }
});
