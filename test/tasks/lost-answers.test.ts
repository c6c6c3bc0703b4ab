import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Records } from '../../shared/ports/records.ts';
import { settled } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const LARGE = 'x'.repeat(20_000);
const DAY_MS = 86_400_000;

/** A system that can lose the answer to the next write, so that something below the port repeats it after others wrote as well. */
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

describe('large content whose write was answered only when others had written too', () => {
  it('stays as the input of a task that was claimed meanwhile', async (t) => {
    const { parley, loseNext } = await losingAnswers(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const request = taskRequest('tim', { payload: { params: { LARGE } } });
    loseNext(() => galahad.send(about('task.claimed', 'galahad', request.id, {})));
    assert.ok((await tim.send(request)).status < 300);
    const { state, payload } = await tim.task(request.id);
    assert.deepEqual([state, payload.LARGE.length], ['claimed', LARGE.length]);
  });

  it('stays as the result of a task that its requester acknowledged meanwhile', async (t) => {
    const { parley, loseNext } = await losingAnswers(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    await settled(parley);
    const payload = { status: 'completed', result: { format: 'markdown', content: LARGE } };
    const result = about('task.result', 'galahad', id, payload);
    loseNext(() => tim.call('POST', '/v1/inbox/ack', { ids: [result.id] }));
    assert.ok((await galahad.send(result)).status < 300);
    assert.equal((await tim.task(id)).result.content.length, LARGE.length);
  });

  it('stays as a note that was acknowledged meanwhile', async (t) => {
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

  it('stays as a card that somebody else made meanwhile', async (t) => {
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
