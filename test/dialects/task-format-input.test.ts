import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const QUESTION = {
  prompt: 'How many servings?',
  schema: { type: 'object', properties: { servings: { type: 'integer', minimum: 1 } }, required: ['servings'] },
  state: { step: 3, seen: ['basil'] },
  choices: [2, 4],
};

const asked = async (parley: TestParley, input: object = QUESTION) => {
  const { orchestrator, cook } = await kitchen(parley);
  const { id } = tfRequest();
  await orchestrator.send(tfRequest({ id }));
  const reply = await cook.send({ id, status: 'input_required', input });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  const answer = (given: unknown, who = orchestrator) => who.call('POST', `/v1/tasks/${id}/input`, { input: given });
  return { orchestrator, cook, id, answer };
};

const LEVELS = 100;
/** Each definition refers to the next one twice. */
const doubling = (refTo: (name: string) => string) => ({
  ...Object.fromEntries(
    Array.from({ length: LEVELS }, (_, at) => {
      const next = { $ref: refTo(`d${at + 1}`) };
      return [`d${at}`, { allOf: [next, next] }];
    }),
  ),
  [`d${LEVELS}`]: { type: 'string' },
});

describe('Task Format question', () => {
  it('delivers a question to the requester, and its answer with the earlier state to the holder', async (t) => {
    const { orchestrator, cook, id, answer } = await asked(await testParley(t));
    const [question] = await orchestrator.inbox(20);
    assert.deepEqual([question.id, question.status, question.input], [id, 'input_required', QUESTION]);
    assert.equal(question.metadata.agent, 'cook');
    const shown = await orchestrator.task(id, 20);
    assert.deepEqual([shown.status, shown.input], ['input_required', QUESTION]);
    const answered = await answer({ servings: 4 });
    assert.deepEqual([answered.status, answered.body.status], [202, 'in_progress']);
    assert.deepEqual(await cook.inbox(20), [{ id, input: { ...QUESTION, answer: { servings: 4 } } }]);
    assert.equal((await cook.send({ id, status: 'completed', result: 'for four' })).status, 202);
    assert.equal((await orchestrator.task(id)).result, 'for four');
  });

  const unasked: [what: string, said: object, prompt: string][] = [
    ['nothing', {}, 'cook needs input.'],
    ['an empty message', { metadata: { message: '' } }, 'cook needs input.'],
    ['a message in its metadata', { metadata: { message: 'Which oven?' } }, 'Which oven?'],
    ['a state', { input: { state: 1 }, metadata: { message: 'Which oven?' } }, 'Which oven?'],
  ];
  for (const [what, said, prompt] of unasked) {
    it(`accepts a question that says ${what} instead of a prompt, and its answer`, async (t) => {
      const { orchestrator, cook } = await kitchen(await testParley(t));
      const { id } = tfRequest();
      await orchestrator.send(tfRequest({ id }));
      assert.equal((await cook.send({ id, status: 'input_required', ...said })).status, 202);
      const [question] = await orchestrator.inbox(20);
      assert.deepEqual([question.status, question.input.prompt], ['input_required', prompt]);
      assert.equal((await orchestrator.task(id)).input.prompt, prompt);
      assert.equal((await orchestrator.send({ id, input: 'the left one' })).status, 202);
      assert.equal((await cook.inbox(20))[0].input.answer, 'the left one');
    });
  }

  it('brings the metadata and the artifacts of a question to the requester', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    const artifacts = [{ name: 'draft.md', type: 'text/markdown', content: '# Draft' }];
    const metadata = { message: 'Is this right?', page: 2 };
    await cook.send({ id, status: 'input_required', artifacts, metadata, hint: 'yes or no' });
    const [question] = await orchestrator.inbox(20);
    assert.deepEqual([question.artifacts, question.hint, question.metadata.page], [artifacts, 'yes or no', 2]);
  });

  it('accepts an answer as a message of the requester', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook, id } = await asked(parley, { prompt: 'Why?' });
    await refusedWithoutTrace(parley, 403, 'forbidden', () => cook.send({ id, input: 'because' }));
    const said = { id, input: ['because'] };
    const replies = [await orchestrator.send(said), await orchestrator.send(said)];
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.duplicate]),
      [
        [202, false],
        [200, true],
      ],
    );
    assert.deepEqual(await cook.inbox(20), [{ id, input: { prompt: 'Why?', answer: ['because'] } }]);
  });

  it('accepts one answer to a question, recognizes its repetition, and rejects another answer', async (t) => {
    const parley = await testParley(t);
    const { answer, id } = await asked(parley);
    assert.equal((await answer({ servings: 4 })).status, 202);
    assert.equal((await answer({ servings: 4 })).status, 200);
    await refusedWithoutTrace(parley, 409, 'not_waiting', () => answer({ servings: 2 }));
    await settled(parley);
    const { messages } = (await parley.admin.call('GET', '/v1/inbox?agent=cook')).body;
    assert.equal(messages.filter((message: { id: string }) => message.id === id).length, 1);
  });

  it('rejects an answer from an agent other than the requester, and accepts one from an administrator', async (t) => {
    const parley = await testParley(t);
    const { cook, id, answer } = await asked(parley);
    const other = await parley.agent('other', taskFormat);
    await refusedWithoutTrace(parley, 404, 'task_not_found', () => answer({ servings: 1 }, other));
    await refusedWithoutTrace(parley, 403, 'forbidden', () => answer({ servings: 1 }, cook));
    const byAdmin = await parley.admin.call('POST', `/v1/tasks/${id}/input`, { input: { servings: 1 } });
    assert.equal(byAdmin.status, 202);
  });

  it('rejects answers that do not match the schema of the question', async (t) => {
    const parley = await testParley(t);
    const { answer } = await asked(parley);
    for (const [given, path] of [
      ['four', 'input'],
      [{}, 'input.servings'],
      [{ servings: 0 }, 'input.servings'],
      [{ servings: 'four' }, 'input.servings'],
    ] as const) {
      const reply = await refusedWithoutTrace(parley, 400, 'invalid_request', () => answer(given));
      assert.deepEqual(
        reply.body.issues.map((issue: { path: string }) => issue.path),
        [path],
      );
    }
    assertRefused(await answer(undefined), 400, 'invalid_request');
    assert.equal((await answer({ servings: 1 })).status, 202);
  });

  it('rejects a question with an invalid schema', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    const reply = await refusedWithoutTrace(parley, 400, 'invalid_message', () =>
      cook.send({ id, status: 'input_required', input: { prompt: 'x', schema: { type: 'colour' } } }),
    );
    assert.equal(reply.body.issues[0].path, 'input.schema');
  });

  it('rejects a question with schema references that cannot be resolved or that form a loop', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    const loop = { anyOf: [{ $ref: '#/$defs/loop' }] };
    for (const $ref of ['#/$defs/d0/x', '#//$defs/d0', '#/$defs/loop', '#/$defs/none', '#/x']) {
      const schema = { $ref, $defs: { ...doubling((name) => `#/$defs/${name}/x`), loop } };
      const reply = await refusedWithoutTrace(parley, 400, 'invalid_message', () =>
        cook.send({ id, status: 'input_required', input: { prompt: 'x', schema } }),
      );
      assert.equal(reply.body.issues[0].path, 'input.schema');
    }
  });

  it('checks an answer at once against a schema that doubles with every reference', async (t) => {
    const parley = await testParley(t);
    const schema = { $ref: '#/$defs/d0', $defs: doubling((name) => `#/$defs/${name}`) };
    const { answer } = await asked(parley, { prompt: 'Which?', schema });
    await refusedWithoutTrace(parley, 400, 'invalid_request', () => answer(5));
    assert.equal((await answer('x')).status, 202);
  });

  it('rejects an answer that takes too many steps to check', async (t) => {
    const parley = await testParley(t);
    const anyOf = Array.from({ length: 400 }, (_, at) => ({ const: `choice ${at}` }));
    const { answer } = await asked(parley, { prompt: 'Which?', schema: { type: 'array', items: { anyOf } } });
    const all = Array.from({ length: 400 }, (_, at) => `choice ${at}`);
    await refusedWithoutTrace(parley, 413, 'too_large', () => answer(all));
    assert.equal((await answer(['choice 7', 'choice 399'])).status, 202);
  });

  it('suspends the lease and the time to live of a task that waits for input', async (t) => {
    const parley = await testParley(t);
    const { cook, id, answer } = await asked(parley);
    parley.clock.advance(3 * 86_400_000);
    await settled(parley);
    assert.equal((await cook.task(id)).status, 'input_required');
    await answer({ servings: 1 });
    assert.equal((await cook.send({ id, status: 'in_progress' })).status, 202);
    parley.clock.advance(299_000);
    await settled(parley);
    assert.equal((await cook.send({ id, status: 'completed' })).status, 202);
  });

  it('returns a question at once to a caller that waits for the end of the task', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const request = tfRequest();
    const waiting = orchestrator.call('POST', '/v1/tasks?wait=20', request);
    const [{ message }] = await cook.claim({ wait: 20 });
    await cook.send({ id: message.id, status: 'input_required', input: { prompt: 'Why?' } });
    const { status, body } = await waiting;
    assert.deepEqual([status, body.status, body.input], [200, 'input_required', { prompt: 'Why?' }]);
  });

  it('rejects progress and results of a task that waits for input', async (t) => {
    const parley = await testParley(t);
    const { cook, id } = await asked(parley);
    for (const said of [{ status: 'in_progress' }, { status: 'completed', result: 1 }]) {
      const { body } = await refusedWithoutTrace(parley, 409, 'waiting_for_input', () => cook.send({ id, ...said }));
      assert.match(body.detail, /waits for the answer of orchestrator/);
    }
  });

  it('accepts a failure of a task that waits for input, and retries the task', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook, id, answer } = await asked(parley);
    const error = { code: 'MCP_ERROR', message: 'broken' };
    assert.equal((await cook.send({ id, status: 'failed', error })).status, 202);
    const task = await orchestrator.task(id);
    assert.deepEqual([task.state, task.input, task.metadata.agent], ['requested', undefined, undefined]);
    assertRefused(await answer({ servings: 4 }), 409, 'not_waiting');
    parley.clock.advance(1000);
    await settled(parley);
    assert.equal((await cook.claim())[0].attempt, 2);
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=task.retrying')).body;
    assert.equal(events.length, 1);
    const { history } = await orchestrator.task(id);
    assert.ok(history.some(({ event, agent }: Record<string, string>) => event === 'released' && agent === 'cook'));
  });

  it('accepts a cancellation by the holder of a task that waits for input', async (t) => {
    const { orchestrator, cook, id } = await asked(await testParley(t));
    assert.equal((await cook.send({ id, status: 'cancelled' })).status, 202);
    const task = await orchestrator.task(id);
    assert.deepEqual([task.state, task.lastError.code, task.input], ['cancelled', 'CANCELLED', undefined]);
  });

  it('notifies the holder when a task that waits for input is cancelled', async (t) => {
    const { orchestrator, cook, id, answer } = await asked(await testParley(t));
    await orchestrator.call('POST', `/v1/tasks/${id}/cancel`);
    const [message] = await cook.inbox(20);
    assert.deepEqual([message.id, message.status], [id, 'cancelled']);
    assertRefused(await answer({ servings: 1 }), 409, 'cancelled');
  });

  it('delivers a question to a Round Table requester as progress', async (t) => {
    const parley = await testParley(t);
    const { cook } = await kitchen(parley);
    const requester = await parley.agent('requester');
    const id = await requester.request({ payload: { task: 'home.dinner' } });
    await cook.send({ id, status: 'input_required', input: { prompt: 'Why?' } });
    const [question] = await requester.inbox(20);
    assert.deepEqual([question.type, question.correlationId, question.from], ['task.progress', id, 'cook']);
    assert.deepEqual(question.payload, {
      message: 'Why?',
      parley: { status: 'input_required', input: { prompt: 'Why?' } },
    });
    assert.equal((await requester.call('POST', `/v1/tasks/${id}/input`, { input: 'hunger' })).status, 202);
    assert.equal((await cook.inbox(20))[0].input.answer, 'hunger');
  });
});
