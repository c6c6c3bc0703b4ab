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

describe('live event stream', () => {
  it('starts a live stream at the end of the log and sends each new event', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    await requester.request();
    await settled(parley);
    const { response, frames } = await streamFor(t, parley, requester);
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], 'text/event-stream');
    assert.ok(response.headers.traceparent);
    const start = await next(frames);
    assert.equal(start.event, undefined);
    const id = await requester.request();
    const requested = await next(frames);
    assert.equal(requested.event, 'task.requested');
    assert.equal(requested.data.data.taskId, id);
    await worker.claimed(id);
    assert.equal((await next(frames)).event, 'task.claimed');
    await worker.complete(id);
    assert.equal((await next(frames)).event, 'task.completed');
  });

  it('resumes a live stream after Last-Event-ID without a gap and without a repetition', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const first = await streamFor(t, parley, requester);
    await next(first.frames);
    const [seen] = [await requester.request()];
    const { id: lastEventId = '', data } = await next(first.frames);
    assert.equal(data.data.taskId, seen);
    first.gone.abort();
    const missed = [await requester.request(), await requester.request()];
    const { frames } = await streamFor(t, parley, requester, { lastEventId });
    await next(frames);
    const told = [await next(frames), await next(frames)];
    assert.deepEqual(
      told.map((frame) => frame.data.data.taskId),
      missed,
    );
  });

  it('sends a position to resume from before the first event of a live stream', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const first = await streamFor(t, parley, requester);
    const { id: lastEventId = '' } = await next(first.frames);
    first.gone.abort();
    const id = await requester.request();
    const { frames } = await streamFor(t, parley, requester, { lastEventId });
    await next(frames);
    assert.equal((await next(frames)).data.data.taskId, id);
  });

  it('resumes a live stream after a restart of Parley', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const first = await streamFor(t, parley, requester);
    const { id: lastEventId = '' } = await next(first.frames);
    first.gone.abort();
    await first.frames.next();
    const id = await requester.request();
    await parley.restart();
    const { frames } = await streamFor(t, parley, requester, { lastEventId });
    await next(frames);
    assert.equal((await next(frames)).data.data.taskId, id);
  });

  it('streams only the requested types and only events that the agent may read', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const homeWorker = await parley.agent('home-worker', { capabilities: ['home.scene'] });
    const completions = await streamFor(t, parley, requester, { query: 'type=task.completed' });
    const homeStream = await streamFor(t, parley, homeWorker);
    await next(completions.frames);
    await next(homeStream.frames);
    const id = await requester.request();
    await worker.complete(id);
    const home = await requester.request({ payload: { task: 'home.scene' } });
    assert.equal((await next(completions.frames)).event, 'task.completed');
    assert.equal((await next(homeStream.frames)).data.data.taskId, home);
  });

  it('sends a keep-alive comment on a live stream when there is no event', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const { response } = await streamFor(t, parley, requester);
    assert.ok(!(response.body instanceof Uint8Array) && typeof response.body !== 'string');
    const pieces = response.body[Symbol.asyncIterator]();
    await pieces.next();
    const waiting = pieces.next();
    await settled(parley);
    parley.clock.advance(15_000);
    assert.deepEqual(await waiting, { value: ': still here\n\n', done: false });
  });

  it('ends a live stream when its reader disconnects', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const { frames, gone } = await streamFor(t, parley, requester);
    await next(frames);
    const waiting = frames.next();
    gone.abort();
    assert.equal((await waiting).done, true);
  });

  it('starts a live stream at the end of the log for a blank Last-Event-ID', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const { frames } = await streamFor(t, parley, requester, { lastEventId: '' });
    assert.ok((await next(frames)).id);
    const id = await requester.request();
    assert.equal((await next(frames)).data.data.taskId, id);
  });

  it('rejects a Last-Event-ID that the log did not issue', async (t) => {
    const parley = await testParley(t);
    const { key } = await parley.agent('requester');
    for (const place of ['yesterday', '-1', '1.x', '999999999999999.0']) {
      const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'last-event-id': place };
      const { status } = await parley.transport('GET', '/v1/events', headers, undefined);
      assert.equal(status, 400, `Last-Event-ID: ${place}`);
    }
  });
});
