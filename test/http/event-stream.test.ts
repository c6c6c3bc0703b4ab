import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { TestAgent } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { settled } from './refusal.ts';

interface Frame {
  id?: string;
  event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  data?: any;
}

/** A live stream, read frame by frame; comments and frames without an event are only remembered for their place. */
const streamFor = async (
  t: TestContext,
  { parley }: TestParley,
  { key }: TestAgent,
  options: { query?: string; lastEventId?: string } = {},
) => {
  const gone = new AbortController();
  t.after(() => gone.abort());
  const again: Record<string, string> =
    options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId };
  const response = await parley.handle({
    method: 'GET',
    path: '/v1/events',
    query: options.query ?? '',
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...again },
    readBody: createBodyReader(Buffer.of()),
    signal: gone.signal,
  });
  assert.ok(
    !(response.body instanceof Uint8Array) && typeof response.body !== 'string',
    `${response.status} ${response.body}`,
  );
  return { response, frames: framesOf(response.body), gone };
};

async function* framesOf(pieces: AsyncIterable<string>): AsyncGenerator<Frame> {
  for await (const piece of pieces) {
    for (const block of piece.split('\n\n').filter((text) => text !== '')) yield frameOf(block);
  }
}

const frameOf = (block: string): Frame => {
  const fields = block
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]);
  const { data, ...rest } = Object.fromEntries(fields);
  return data === undefined ? rest : { ...rest, data: JSON.parse(data) };
};

const next = async (frames: AsyncGenerator<Frame>): Promise<Frame> => {
  const { value, done } = await frames.next();
  assert.ok(!done, 'the stream has ended');
  return value;
};

describe('the live stream of events', () => {
  it('begins now, and tells what happens as it happens', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    await tim.request();
    await settled(parley);
    const { response, frames } = await streamFor(t, parley, tim);
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], 'text/event-stream');
    assert.ok(response.headers.traceparent);
    const start = await next(frames);
    assert.equal(start.event, undefined);
    const id = await tim.request();
    const requested = await next(frames);
    assert.equal(requested.event, 'task.requested');
    assert.equal(requested.data.data.taskId, id);
    await galahad.claimed(id);
    assert.equal((await next(frames)).event, 'task.claimed');
    await galahad.complete(id);
    assert.equal((await next(frames)).event, 'task.completed');
  });

  it('goes on behind Last-Event-ID, without a gap and without a repetition', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const first = await streamFor(t, parley, tim);
    await next(first.frames);
    const [seen] = [await tim.request()];
    const { id: lastEventId = '', data } = await next(first.frames);
    assert.equal(data.data.taskId, seen);
    first.gone.abort();
    const missed = [await tim.request(), await tim.request()];
    const { frames } = await streamFor(t, parley, tim, { lastEventId });
    await next(frames);
    const told = [await next(frames), await next(frames)];
    assert.deepEqual(
      told.map((frame) => frame.data.data.taskId),
      missed,
    );
  });

  it('has a place to come back to from its first moment', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const first = await streamFor(t, parley, tim);
    const { id: lastEventId = '' } = await next(first.frames);
    first.gone.abort();
    const id = await tim.request();
    const { frames } = await streamFor(t, parley, tim, { lastEventId });
    await next(frames);
    assert.equal((await next(frames)).data.data.taskId, id);
  });

  it('goes on after a restart', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const first = await streamFor(t, parley, tim);
    const { id: lastEventId = '' } = await next(first.frames);
    first.gone.abort();
    await first.frames.next();
    const id = await tim.request();
    await parley.restart();
    const { frames } = await streamFor(t, parley, tim, { lastEventId });
    await next(frames);
    assert.equal((await next(frames)).data.data.taskId, id);
  });

  it('tells only the types that are asked for, and only what concerns the agent', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const kay = await parley.agent('kay', { capabilities: ['home.scene'] });
    const completions = await streamFor(t, parley, tim, { query: 'type=task.completed' });
    const kays = await streamFor(t, parley, kay);
    await next(completions.frames);
    await next(kays.frames);
    const id = await tim.request();
    await galahad.complete(id);
    const home = await tim.request({ payload: { task: 'home.scene' } });
    assert.equal((await next(completions.frames)).event, 'task.completed');
    assert.equal((await next(kays.frames)).data.data.taskId, home);
  });

  it('says that it lives when nothing happens', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const { response } = await streamFor(t, parley, tim);
    assert.ok(!(response.body instanceof Uint8Array) && typeof response.body !== 'string');
    const pieces = response.body[Symbol.asyncIterator]();
    await pieces.next();
    const waiting = pieces.next();
    await settled(parley);
    parley.clock.advance(15_000);
    assert.deepEqual(await waiting, { value: ': still here\n\n', done: false });
  });

  it('ends when its reader is gone', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const { frames, gone } = await streamFor(t, parley, tim);
    await next(frames);
    const waiting = frames.next();
    gone.abort();
    assert.equal((await waiting).done, true);
  });

  it('begins now for a reader whose Last-Event-ID is blank, as one is that has heard nothing yet', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const { frames } = await streamFor(t, parley, tim, { lastEventId: '' });
    assert.ok((await next(frames)).id);
    const id = await tim.request();
    assert.equal((await next(frames)).data.data.taskId, id);
  });

  it('is refused before it begins where its place is not one that the log gave', async (t) => {
    const parley = await testParley(t);
    const { key } = await parley.agent('tim');
    for (const place of ['yesterday', '-1', '1.x', '999999999999999.0']) {
      const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'last-event-id': place };
      const { status } = await parley.transport('GET', '/v1/events', headers, undefined);
      assert.equal(status, 400, `Last-Event-ID: ${place}`);
    }
  });
});
