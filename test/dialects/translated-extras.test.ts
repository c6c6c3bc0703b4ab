import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reply } from '../support/api.ts';
import { speakers } from '../support/speakers.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

type Wire = Reply['body'];

const QUESTION = { prompt: 'How many servings?', state: { step: 3 } };
const ARTIFACTS = [{ name: 'menu.md', type: 'text/markdown', content: '# Menu' }];
const RETRY = { maxAttempts: 2, backoffType: 'fixed', initialDelay: 5 };

/** Where other dialects show fields that only Task Format defines. */
const PLACES = [
  {
    dialect: 'round-table',
    questionIn: ({ type, payload }: Wire) => [type, payload.message, payload.parley.status, payload.parley.input],
    question: ['task.progress', QUESTION.prompt, 'input_required', QUESTION],
    answer: ['task.progress', '4', 'input_given', { ...QUESTION, answer: 4 }],
    artifactsIn: ({ payload }: Wire) => payload.parley.artifacts,
    extrasIn: ({ parley }: Wire) => parley,
  },
  {
    dialect: 'agent-os',
    questionIn: ({ type, payload, parley }: Wire) => [type, payload.content, parley.status, parley.input],
    question: [
      'query',
      { question: QUESTION.prompt, parameters: { state: QUESTION.state } },
      'input_required',
      QUESTION,
    ],
    answer: ['response', 4, 'input_given', { ...QUESTION, answer: 4 }],
    artifactsIn: ({ parley }: Wire) => parley.artifacts,
    extrasIn: ({ parley }: Wire) => parley,
  },
  {
    dialect: 'message-routing',
    questionIn: ({ type, payload }: Wire) => [type, payload.message, payload.parley.status, payload.parley.input],
    question: ['status-update', QUESTION.prompt, 'input_required', QUESTION],
    answer: ['status-update', '4', 'input_given', { ...QUESTION, answer: 4 }],
    artifactsIn: ({ payload }: Wire) => payload.parley.artifacts,
    extrasIn: ({ payload }: Wire) => payload.parley,
  },
  {
    dialect: 'common-ground',
    questionIn: ({ subject, payload }: Wire) => [subject.split('.').at(-1), payload.status, payload.metadata.input],
    question: ['state', 'suspended', QUESTION],
    answer: ['state', 'running', { ...QUESTION, answer: 4 }],
    artifactsIn: ({ payload }: Wire) => payload.metadata.parley.artifacts,
    extrasIn: ({ payload }: Wire) => payload.payload.parley,
  },
];

for (const { dialect, questionIn, question, answer, artifactsIn, extrasIn } of PLACES) {
  describe(`Task Format fields in ${dialect}`, () => {
    it(`shows a question and artifacts to a requester in ${dialect}, and accepts its answer`, async (t) => {
      const parley = await testParley(t);
      const requester = await parley.agent('requester', { dialect, inbox: 'ends' });
      const cook = await parley.agent('cook', taskFormat);
      const asking = speakers.find((speaker) => speaker.dialect === dialect);
      const request = asking?.request('requester', 'cook', {});
      const { taskId, agentTurnId = taskId } = (await requester.send(request ?? {})).body;
      const [{ message }] = await cook.claim({ wait: 20 });
      await cook.send({ id: message.id, status: 'input_required', input: QUESTION });
      const [asked] = await requester.inbox(20);
      assert.deepEqual(questionIn(asked), question);
      const { body: shown } = await requester.call('GET', `/v1/tasks/${agentTurnId}?dialect=${dialect}`);
      assert.deepEqual(questionIn(shown), question);
      const ids = [asking?.idIn(asked)];
      assert.equal((await requester.call('POST', '/v1/inbox/ack', { ids })).body.acknowledged, 1);
      const answered = await requester.call('POST', `/v1/tasks/${agentTurnId}/input`, { input: 4 });
      assert.equal(answered.status, 202, JSON.stringify(answered.body));
      assert.deepEqual((await cook.inbox(20))[0].input, { ...QUESTION, answer: 4 });
      await cook.send({ id: message.id, status: 'completed', result: {}, artifacts: ARTIFACTS });
      const [result] = await requester.inbox(20);
      assert.deepEqual(artifactsIn(result), ARTIFACTS);
    });

    it(`shows the answer, the delegation chain and the retry policy to a holder in ${dialect}`, async (t) => {
      const parley = await testParley(t);
      const requester = await parley.agent('requester', taskFormat);
      const holder = await parley.agent('holder', { dialect });
      const routing = { target: 'holder', delegationChain: ['first'] };
      const { id } = tfRequest();
      await requester.send(tfRequest({ id, routing, retryPolicy: RETRY }));
      const [{ message }] = await holder.claim();
      assert.deepEqual(extrasIn(message).chain, ['first', 'requester']);
      assert.deepEqual(extrasIn(message).retry, { maxAttempts: 2, backoff: 'fixed', initialMs: 5 });
      const asked = { id, status: 'input_required', input: QUESTION };
      await holder.call('POST', '/v1/messages', asked, { 'parley-dialect': 'task-format' });
      await requester.send({ id, input: 4 });
      const [told] = await holder.inbox(20);
      assert.deepEqual(questionIn(told), answer);
    });
  });
}
