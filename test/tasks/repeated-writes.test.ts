import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Records } from '../../shared/ports/records.ts';
import { settled } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const LARGE = 'x'.repeat(20_000);
const DAY_MS = 86_400_000;

/** Repeats the next write after other writes, as an SDK does when the first answer is lost. */
const losingAnswers = async (t: TestContext) => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const twice = async <R>(write: () => Promise<R>): Promise<R> => {
    const others = meanwhile;
    meanwhile = undefined;
    const answer = await write();
    if (!others) return answer;
    await others();
    return write();
  };
  const through = (records: Records): Records => ({
    ...records,
    create: (item, token) => twice(() => records.create(item, token)),
    update: (ref, change, token, orCreate) => twice(() => records.update(ref, change, token, orCreate)),
    transact: (writes, token) => twice(() => records.transact(writes, token)),
  });
  const parley = await testParley(t, {
    wrapPorts: ({ records, ...ports }) => ({ ...ports, records: through(records) }),
  });
  const loseNext = (others: () => Promise<unknown>): void => {
    meanwhile = others;
  };
  return { parley, loseNext };
};

describe('large content after a repeated write', () => {
  it('keeps the input of a task that was claimed before its creation was repeated', async (t) => {
    const { parley, loseNext } = await losingAnswers(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const request = taskRequest('requester', { payload: { params: { LARGE } } });
    loseNext(() => worker.send(about('task.claimed', 'worker', request.id, {})));
    assert.ok((await requester.send(request)).status < 300);
    const { state, payload } = await requester.task(request.id);
    assert.deepEqual([state, payload.LARGE.length], ['claimed', LARGE.length]);
  });

  it('keeps the result of a task that was acknowledged before the write of the result was repeated', async (t) => {
    const { parley, loseNext } = await losingAnswers(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    await worker.claim();
    await settled(parley);
    const payload = { status: 'completed', result: { format: 'markdown', content: LARGE } };
    const result = about('task.result', 'worker', id, payload);
    loseNext(() => requester.call('POST', '/v1/inbox/ack', { ids: [result.id] }));
    assert.ok((await worker.send(result)).status < 300);
    assert.equal((await requester.task(id)).result.content.length, LARGE.length);
  });

  it('keeps a direct message that was acknowledged before its write was repeated', async (t) => {
    const { parley, loseNext } = await losingAnswers(t);
    const speaker = await parley.agent('speaker', messageRouting);
    const reader = await parley.agent('reader', messageRouting);
    const payload = { status: 'in_progress', progress: 0.5, message: 'x'.repeat(6000), confidence: 0.8, blockers: [] };
    const note = mrMessage('status-update', 'speaker', 'reader', { payload });
    loseNext(() => reader.call('POST', '/v1/inbox/ack', { ids: [note.msg_id] }));
    assert.ok((await speaker.send(note)).status < 300);
    const at = encodeURIComponent(note.timestamp);
    const { body } = await speaker.call('GET', `/v1/messages/speaker/${note.msg_id}?timestamp=${at}`);
    assert.equal(body.content?.message?.length, 6000, JSON.stringify(body).slice(0, 300));
  });

  it('keeps a card that another caller created before its write was repeated', async (t) => {
    const { parley, loseNext } = await losingAnswers(t);
    const make = () => parley.admin.call('POST', '/v1/cards', { type: 'tool.result', content: LARGE });
    loseNext(() => {
      parley.clock.advance(20 * DAY_MS);
      return make();
    });
    const { card_id } = (await make()).body;
    assert.equal((await parley.admin.call('GET', `/v1/cards/${card_id}`)).body.content?.length, LARGE.length);
  });
});
