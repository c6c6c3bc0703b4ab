import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { toSortableTime } from '../../shared/model/task.ts';
import { REORDER_TIMEOUT_MS } from '../../shared/turns/streams/chunk-sequencer.ts';
import { assertRefused, settled } from '../http/refusal.ts';
import type { Caller, Reply, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

interface Frame {
  id?: string;
  event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  data?: any;
}

interface World {
  parley: TestParley;
  author: TestAgent;
  worker: Worker;
  held: Held;
  say(content: string, index?: number, more?: object): Promise<Reply>;
}

const world = async (t: TestContext): Promise<World> => {
  const parley = await testParley(t);
  const author = await groundAgent(parley, 'author');
  const worker = new Worker(author);
  await enqueued(parley.admin, 'author');
  const held = await worker.begin();
  const say = (content: string, index?: number, more: object = {}) =>
    sendChunk(author, held, { content, index, ...more });
  return { parley, author, worker, held, say };
};

const sendChunk = (by: Caller, { agent_turn_id }: Held, more: object, agent = 'author'): Promise<Reply> =>
  by.call('POST', '/v1/messages', {
    subject: `cg.v1r3.default.public.str.agent.${agent}.chunk`,
    payload: { agent_turn_id, step_id: 's1', chunk_type: 'content', ...more },
  });

/** The stream of a turn, frame by frame; the first frame only says where it begins. */
const following = async (t: TestContext, { parley, held }: World, key: string, lastEventId?: string) => {
  const gone = new AbortController();
  t.after(() => gone.abort());
  const headers = { authorization: `Bearer ${key}`, 'last-event-id': lastEventId };
  const path = `/v1/turns/${held.agent_turn_id}/stream`;
  const response = await parley.parley.handle({
    method: 'GET',
    path,
    query: '',
    headers,
    readBody: createBodyReader(Buffer.from('')),
    signal: gone.signal,
  });
  assert.equal(response.status, 200, String(response.body));
  assert.equal(response.headers['content-type'], 'text/event-stream');
  assert.ok(typeof response.body !== 'string' && !(response.body instanceof Uint8Array));
  const frames = framesOf(response.body);
  const start = await next(frames);
  assert.equal(start.data, undefined);
  return { frames, gone, start: start.id };
};

async function* framesOf(pieces: AsyncIterable<string>): AsyncGenerator<Frame> {
  for await (const piece of pieces) {
    for (const block of piece.split('\n\n').filter((text) => text !== '' && !text.startsWith(':'))) {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
      );
      yield fields.data === undefined ? fields : { ...fields, data: JSON.parse(fields.data) };
    }
  }
}

const next = async (frames: AsyncGenerator<Frame>): Promise<Frame> => {
  const { value, done } = await frames.next();
  assert.ok(!done, 'the stream has ended');
  return value;
};

const nextContents = async (frames: AsyncGenerator<Frame>, count: number): Promise<string[]> => {
  const contents: string[] = [];
  while (contents.length < count) contents.push((await next(frames)).data.content);
  return contents;
};

describe('turn stream', () => {
  it('streams each chunk with all its fields as the agent sends it', async (t) => {
    const all = await world(t);
    const reader = await all.parley.agent('reader');
    const { frames } = await following(t, all, reader.key);
    const metadata = { llm_timing: { first_token_ms: 12 } };
    assert.equal((await all.say('Hel', 0, { metadata })).status, 202);
    const { event, data } = await next(frames);
    assert.equal(event, 'chunk');
    const { agent_turn_id } = all.held;
    assert.deepEqual(data, { agent_turn_id, step_id: 's1', chunk_type: 'content', content: 'Hel', index: 0, metadata });
    await all.say('lo', 1);
    assert.equal((await next(frames)).data.content, 'lo');
  });

  it('streams chunks without content, such as the start and the end of a step', async (t) => {
    const all = await world(t);
    const subject = 'cg.v1r3.default.public.str.agent.author.chunk';
    const { agent_turn_id } = all.held;
    const chunks = [
      { agent_turn_id, step_id: 's1', chunk_type: 'start', metadata: { llm: 'x' } },
      { agent_turn_id, step_id: 's1', chunk_type: 'content', content: 'Hello' },
      { agent_turn_id, step_id: 's1', chunk_type: 'end', usage: { tokens: 3 } },
    ];
    for (const payload of chunks) assert.equal((await all.author.send({ subject, payload })).status, 202);
    const { frames } = await following(t, all, all.author.key);
    const told = [await next(frames), await next(frames), await next(frames)].map(({ data }) => data);
    assert.deepEqual(
      told,
      chunks.map((chunk) => ({ content: '', ...chunk })),
    );
  });

  it('streams earlier chunks by index, and those without an index in order of arrival', async (t) => {
    const all = await world(t);
    for (const index of [1, 0, 2]) await all.say(`${index}`, index);
    all.parley.clock.advance(300);
    for (const content of ['x', 'y', 'x']) await all.say(content, undefined, { step_id: 's2' });
    const { frames } = await following(t, all, all.author.key);
    assert.deepEqual(await nextContents(frames, 6), ['0', '1', '2', 'x', 'y', 'x']);
  });

  it('keeps the order of chunks that are sent in one call', async (t) => {
    const all = await world(t);
    const { frames } = await following(t, all, all.author.key);
    const payload = { agent_turn_id: all.held.agent_turn_id, step_id: 's1', chunk_type: 'content' };
    const subject = 'cg.v1r3.default.public.str.agent.author.chunk';
    const messages = Array.from({ length: 20 }, (_, n) => ({ subject, payload: { ...payload, content: `${n}` } }));
    const { body } = await all.author.call('POST', '/v1/messages', { messages });
    assert.ok(
      body.results.every(({ status }: Reply) => status === 202),
      JSON.stringify(body),
    );
    assert.deepEqual(
      await nextContents(frames, 20),
      messages.map(({ payload: { content } }) => content),
    );
  });

  it('waits for a late chunk but not for a lost one', async (t) => {
    const all = await world(t);
    const { frames } = await following(t, all, all.author.key);
    await all.say('0', 0);
    await all.say('2', 2);
    assert.deepEqual(await nextContents(frames, 1), ['0']);
    const waiting = nextContents(frames, 1);
    await settled(all.parley);
    all.parley.clock.advance(REORDER_TIMEOUT_MS);
    assert.deepEqual(await waiting, ['2']);
    await all.say('1', 1);
    await all.say('3', 3);
    assert.deepEqual(await nextContents(frames, 1), ['3']);
  });

  it('resumes a turn stream after Last-Event-ID, from any chunk and from the start', async (t) => {
    const all = await world(t);
    for (let index = 0; index < 5; index++) {
      await all.say(`${index}`, index);
      all.parley.clock.advance(100);
    }
    const first = await following(t, all, all.author.key);
    const ids = [first.start];
    for (let index = 0; index < 5; index++) ids.push((await next(first.frames)).id);
    first.gone.abort();
    for (const [told, id] of ids.entries()) {
      const { frames } = await following(t, all, all.author.key, id);
      assert.deepEqual(await nextContents(frames, 5 - told), ['0', '1', '2', '3', '4'].slice(told));
    }
  });

  it('starts a turn stream with the first chunk for a blank Last-Event-ID', async (t) => {
    const all = await world(t);
    await all.say('0', 0);
    const { frames } = await following(t, all, all.author.key, '');
    assert.deepEqual(await nextContents(frames, 1), ['0']);
  });

  it('resumes a turn stream after the highest possible chunk index', async (t) => {
    const all = await world(t);
    await all.say('first', Number.MAX_SAFE_INTEGER - 1);
    all.parley.clock.advance(1000);
    const first = await following(t, all, all.author.key);
    const { id } = await next(first.frames);
    await all.say('last', Number.MAX_SAFE_INTEGER);
    const { frames } = await following(t, all, all.author.key, id);
    assert.deepEqual(await nextContents(frames, 1), ['last']);
  });

  it('ends a turn stream with the turn, also for readers that come later', async (t) => {
    const all = await world(t);
    const { frames } = await following(t, all, all.author.key);
    await all.say('0', 0);
    await all.worker.deliver(all.held);
    assert.equal((await next(frames)).data.content, '0');
    const { agent_turn_id } = all.held;
    assert.deepEqual(await next(frames), { event: 'end', data: { agent_turn_id, status: 'success' } });
    assert.equal((await frames.next()).done, true);
    const later = await following(t, all, all.author.key);
    assert.deepEqual(await nextContents(later.frames, 1), ['0']);
    assert.equal((await next(later.frames)).event, 'end');
  });

  it('changes neither the turn nor the event log when a chunk is sent', async (t) => {
    const all = await world(t);
    const { admin, clock } = all.parley;
    const events = async () => (await admin.call('GET', '/v1/events?limit=500')).body.events.length;
    await eventually(async () => assert.ok((await events()) > 0));
    const [turn, told] = [await turnOf(admin, all.held.agent_turn_id), await events()];
    for (let index = 0; index < 5; index++) await all.say('x', index);
    clock.advance(1000);
    assert.deepEqual(await turnOf(admin, all.held.agent_turn_id), turn);
    assert.equal(await events(), told);
  });

  it('removes chunks after ten minutes', async (t) => {
    const all = await world(t);
    await all.say('old', 0);
    all.parley.clock.advance(9 * 60_000);
    await all.say('new', 1);
    all.parley.clock.advance(61_000);
    const { frames } = await following(t, all, all.author.key);
    assert.deepEqual(await nextContents(frames, 1), ['new']);
  });

  it('writes at most four records per second and drops excess chunks without an error', async (t) => {
    const all = await world(t);
    const { records } = all.parley.parley.deps;
    for (let n = 0; n < 40; n++) {
      await all.say('x', n);
      all.parley.clock.advance(25);
    }
    const p = `default#turn#${all.held.agent_turn_id}`;
    const slots = await records.query({ pk: p, prefix: 'chunk#', limit: 100 });
    assert.ok(slots.length >= 3 && slots.length <= 5, `${slots.length}`);
    all.parley.clock.advance(1000);
    for (let n = 0; n < 8; n++) assert.equal((await all.say('y'.repeat(60_000), 100 + n)).status, 202);
    const [last] = await records.query({ pk: p, prefix: 'chunk#', newestFirst: true, limit: 1 });
    assert.ok(JSON.stringify(last).length < 400_000);
  });

  it('accepts chunks only from the agent of the turn and streams no others', async (t) => {
    const all = await world(t);
    const otherAuthor = await groundAgent(all.parley, 'other-author');
    assertRefused(await sendChunk(otherAuthor, all.held, { content: 'x' }), 403, 'from_mismatch');
    assert.equal((await sendChunk(otherAuthor, all.held, { content: 'not author' }, 'other-author')).status, 202);
    await all.say('author');
    const { frames } = await following(t, all, all.author.key);
    assert.deepEqual(await nextContents(frames, 1), ['author']);
    await all.worker.deliver(all.held);
    assert.equal((await next(frames)).event, 'end');
  });

  it('opens a turn stream only to agents that may use the channel of the turn', async (t) => {
    const parley = await testParley(t);
    const author = await groundAgent(parley, 'author', { channels: ['public', 'u_arthur'] });
    const reader = await parley.agent('reader');
    const turn = await enqueued(parley.admin, 'author', { channel_id: 'u_arthur' });
    assertRefused(await reader.call('GET', `/v1/turns/${turn}/stream`), 404, 'turn_not_found');
    assert.equal((await author.call('GET', `/v1/turns/${turn}/stream`)).status, 200);
    assertRefused(await author.call('GET', '/v1/turns/none/stream'), 404, 'turn_not_found');
  });

  it('rejects a Last-Event-ID that the stream did not issue', async (t) => {
    const { parley, author, held } = await world(t);
    const path = `/v1/turns/${held.agent_turn_id}/stream`;
    const ahead = `${toSortableTime(parley.clock.now() + 60_000)}-000000-abcd`;
    for (const place of ['a b', '~', 'x~y', 'yesterday', '7', 'x'.repeat(64), `0~${'s'.repeat(8)}~x`, ahead]) {
      assertRefused(await author.call('GET', path, undefined, { 'last-event-id': place }), 400, 'invalid_request');
    }
  });
});

describe('chunk', () => {
  it('accepts a chunk without headers and rejects one that lacks a field or is too large', async (t) => {
    const { author, held, say } = await world(t);
    const whole = { agent_turn_id: held.agent_turn_id, step_id: 's1', chunk_type: 'content', content: 'x' };
    const subject = 'cg.v1r3.default.public.str.agent.author.chunk';
    const send = (payload: object, headers?: object) =>
      author.call('POST', '/v1/messages', { subject, payload, headers });
    assert.equal((await send(whole)).status, 202);
    assert.equal((await send(whole, { 'CG-Recursion-Depth': 'deep' })).status, 202);
    for (const field of ['agent_turn_id', 'step_id', 'chunk_type']) {
      const reply = await send({ ...whole, [field]: undefined });
      assertRefused(reply, 422, 'protocol_violation');
      assert.deepEqual(
        reply.body.issues.map(({ path }: { path: string }) => path),
        [`payload.${field}`],
      );
    }
    for (const wrong of [{ index: -1 }, { index: 0.5 }, { index: '1' }, { content: 5 }, { metadata: [] }]) {
      assertRefused(await send({ ...whole, ...wrong }), 422, 'protocol_violation');
    }
    assertRefused(await say('x'.repeat(70_000)), 413, 'too_large');
  });

  it('rejects a chunk on a channel that its agent may not use', async (t) => {
    const { author, held } = await world(t);
    const reply = await author.call('POST', '/v1/messages', {
      subject: 'cg.v1r3.default.u_arthur.str.agent.author.chunk',
      payload: { agent_turn_id: held.agent_turn_id, step_id: 's1', chunk_type: 'content', content: 'x' },
    });
    assertRefused(reply, 403, 'channel_forbidden');
  });
});
