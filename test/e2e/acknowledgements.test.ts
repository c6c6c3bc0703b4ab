import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage, newMsgId, type Wire } from '../support/message-routing.ts';
import { isShort, searchRuns } from '../support/scale.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

const ack = async (reader: TestAgent, ...ids: string[]): Promise<number> => {
  const { status, body } = await reader.call('POST', '/v1/inbox/ack', { ids });
  assert.equal(status, 200, JSON.stringify(body));
  return body.acknowledged;
};

const asked = async () => {
  const [orchestrator, cook] = [await agent('orchestrator', taskFormat), await agent('cook', taskFormat)];
  const { id } = tfRequest();
  assert.equal((await orchestrator.send(tfRequest({ id, routing: { target: cook.id } }))).status, 202);
  assert.equal((await cook.claim({ wait: 10 })).length, 1);
  const ask = async (prompt: string) =>
    assert.equal((await cook.send({ id, status: 'input_required', input: { prompt } })).status, 202);
  const answer = async (input: string) =>
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${id}/input`, { input })).status, 202);
  const complete = async () =>
    assert.equal((await cook.send({ id, status: 'completed', result: { dish: 'soup' } })).status, 202);
  const statuses = async (wait = 0) => (await orchestrator.inbox(wait)).map(({ status }) => status);
  return { orchestrator, cook, id, ask, answer, complete, statuses };
};

describe('an acknowledgement', { concurrency: 4 }, () => {
  it('that comes again takes nothing that was not read', async () => {
    const { orchestrator, id, ask, answer, complete, statuses } = await asked();
    await ask('how many?');
    assert.deepEqual(await statuses(10), ['input_required']);
    assert.equal(await ack(orchestrator, id), 1);
    await answer('two');
    await complete();
    await eventually(async () => assert.equal((await orchestrator.task(id)).state, 'completed'));
    assert.equal(await ack(orchestrator, id), 0);
    assert.deepEqual(await statuses(10), ['completed']);
    assert.equal(await ack(orchestrator, id), 1);
    assert.equal(await ack(orchestrator, id), 0);
    assert.deepEqual(await statuses(), []);
  });

  it('means all that was read of the task, so that no outcome comes again', async () => {
    const { orchestrator, id, ask, answer, complete, statuses } = await asked();
    await ask('how many?');
    await eventually(async () => assert.deepEqual(await statuses(), ['input_required']));
    await answer('two');
    await complete();
    await eventually(async () => assert.deepEqual(await statuses(), ['input_required', 'completed']));
    assert.equal(await ack(orchestrator, id), 2);
    assert.deepEqual(await statuses(), []);
  });

  it('of a question leaves the next one, though its words are the same', async () => {
    const { orchestrator, id, ask, answer, statuses } = await asked();
    await ask('how many?');
    const [first] = await orchestrator.inbox(10);
    assert.equal(await ack(orchestrator, first.metadata.parley.messageId), 1);
    await answer('two');
    await ask('how many?');
    await eventually(async () => assert.equal((await orchestrator.task(id)).state, 'input_required'));
    assert.equal(await ack(orchestrator, first.metadata.parley.messageId, id), 0);
    assert.deepEqual(await statuses(10), ['input_required']);
  });

  it('by eight digits takes no message of another that has them too and was not read', async () => {
    const speaker = (name: string) => agent(name, messageRouting);
    const [one, other, reader] = [await speaker('one'), await speaker('other'), await speaker('reader')];
    const msg_id = newMsgId();
    assert.equal((await one.send(mrMessage('status-update', one.id, reader.id, { msg_id }))).status, 202);
    assert.equal((await reader.inbox(10)).length, 1);
    assert.equal(await ack(reader, msg_id), 1);
    assert.equal((await other.send(mrMessage('status-update', other.id, reader.id, { msg_id }))).status, 202);
    assert.equal(await ack(reader, msg_id), 0);
    assert.deepEqual(
      (await reader.inbox(10)).map(({ from }) => from),
      [other.id],
    );
    assert.equal(await ack(reader, msg_id), 1);
  });

  it('never loses what was not read, in whatever order things happen', async () => {
    const step = fc.constantFrom('ask', 'answer', 'read', 'ack', 'ack', 'ackAll');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
        const { orchestrator, id, ask, answer, complete } = await asked();
        let [questions, isAsked] = [0, false];
        const read = new Set<string>();
        const look = async () => {
          const messages: Wire[] = await orchestrator.inbox();
          for (const { metadata } of messages) read.add(metadata.parley.messageId);
          return messages;
        };
        for (const what of ['ask', 'read', ...steps]) {
          if (what === 'ask' && !isAsked) {
            await ask('how many?');
            [questions, isAsked] = [questions + 1, true];
          }
          if (what === 'answer' && isAsked) {
            await answer('two');
            isAsked = false;
          }
          if (what === 'read') await look();
          // Who has read nothing of the task has nothing to acknowledge; who has may do so at any time, and again.
          if (what === 'ack' && read.size > 0) await ack(orchestrator, id);
          if (what === 'ackAll' && read.size > 0) await ack(orchestrator, id, ...read);
        }
        if (isAsked) await answer('two');
        await complete();
        await eventually(async () => {
          if (read.size > 0) await ack(orchestrator, id);
          await look();
          assert.equal(read.size, questions + 1, `${read.size} of ${questions + 1} were read after ${steps.join()}`);
        });
        await eventually(async () => {
          await ack(orchestrator, id);
          assert.deepEqual(await orchestrator.inbox(), []);
        });
      }),
      searchRuns(isShort ? 4 : 12, 12),
    );
  });
});
