import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const opened = async (t: TestContext, { parley }: TestParley, { key }: TestAgent, path = '/v1/events', query = '') => {
  const gone = new AbortController();
  t.after(() => gone.abort());
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const { status, body } = await parley.handle({
    method: 'GET',
    path,
    query,
    headers,
    readBody: createBodyReader(Buffer.of()),
    signal: gone.signal,
  });
  assert.ok(status === 200 && typeof body !== 'string' && !(body instanceof Uint8Array));
  const pieces = body[Symbol.asyncIterator]();
  await pieces.next();
  const state = { text: '', isOver: false };
  const read = async (): Promise<void> => {
    const { value, done } = await pieces.next();
    state.text += value ?? '';
    state.isOver = done === true;
  };
  const readOn = async (): Promise<void> => {
    while (!state.isOver) await read();
  };
  return { state, read, readOn, gone };
};

const toldOf = (text: string, type = 'task.requested'): string[] =>
  [...text.matchAll(/^data: (.*)$/gm)]
    .map(([, data = '']) => JSON.parse(data))
    .filter((event) => event.type === type)
    .map((event) => event.data.taskId);

const counting = async (t: TestContext) => {
  const reads = { log: 0, records: 0 };
  const through = (ports: Ports): Ports => ({
    ...ports,
    events: {
      ...ports.events,
      read: (...args) => {
        reads.log += 1;
        return ports.events.read(...args);
      },
    },
    records: {
      ...ports.records,
      query: (query) => {
        reads.records += query.prefix?.startsWith('chunk#') ? 1 : 0;
        return ports.records.query(query);
      },
    },
  });
  return { parley: await testParley(t, { wrapPorts: through }), reads };
};

describe('event streams', () => {
  it('reads the log once for all event streams, and sends each the events that its agent may read', async (t) => {
    const { parley, reads } = await counting(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const reader = await parley.agent('reader', { capabilities: ['home.scene'] });
    await settled(parley);
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        opened(t, parley, n % 2 ? requester : worker, '/v1/events', `limit=${n + 1}`),
      ),
    );
    const readerStream = await opened(t, parley, reader);
    const ends = await opened(t, parley, requester, '/v1/events', 'type=task.completed');
    for (const { readOn } of [...streams, readerStream, ends]) readOn();
    await settled(parley);
    const id = await requester.request();
    await eventually(() => {
      for (const { state } of streams) assert.deepEqual(toldOf(state.text), [id]);
    });
    reads.log = 0;
    const home = await requester.request({ payload: { task: 'home.scene' } });
    await worker.complete(id);
    await eventually(() => {
      for (const [n, { state }] of streams.entries()) {
        assert.deepEqual(toldOf(state.text), n % 2 ? [id, home] : [id]);
        assert.deepEqual(toldOf(state.text, 'task.completed'), [id]);
      }
      assert.deepEqual(toldOf(readerStream.state.text), [home]);
      assert.deepEqual(toldOf(ends.state.text, 'task.completed'), [id]);
    });
    assert.ok(reads.log < 15, `22 streams and 3 events took ${reads.log} reads`);
    assert.ok(!readerStream.state.text.includes(id));
    assert.deepEqual(toldOf(ends.state.text), []);
  });

  it('reads nothing from the log while no event stream is open', async (t) => {
    const { parley, reads } = await counting(t);
    const requester = await parley.agent('requester');
    const { gone, readOn, state } = await opened(t, parley, requester);
    readOn();
    gone.abort();
    await eventually(() => assert.ok(state.isOver));
    reads.log = 0;
    for (let n = 0; n < 5; n++) await requester.request();
    assert.equal(reads.log, 0);
  });

  it('sends every event once and in order to a slow reader, without delaying a fast one', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const [slow, fast] = [await opened(t, parley, requester), await opened(t, parley, requester)];
    fast.readOn();
    const ids: string[] = [];
    // More pages than the feed keeps: each is sent before the next one begins.
    for (let n = 0; n < 12; n++) {
      ids.push(await requester.request());
      await eventually(() => assert.deepEqual(toldOf(fast.state.text), ids));
    }
    slow.readOn();
    await eventually(() => assert.deepEqual(toldOf(slow.state.text), ids));
    ids.push(await requester.request());
    await eventually(() => {
      assert.deepEqual(toldOf(slow.state.text), ids);
      assert.deepEqual(toldOf(fast.state.text), ids);
    });
  });

  it('applies a changed registration to an open event stream', async (t) => {
    const parley = await testParley(t);
    const [requester, reader] = [
      await parley.agent('requester'),
      await parley.agent('reader', { capabilities: ['home.scene'] }),
    ];
    const { state, readOn } = await opened(t, parley, reader);
    readOn();
    await requester.request();
    await settled(parley);
    const registration = { dialect: 'round-table', capabilities: ['security.briefing'] };
    assert.equal((await parley.admin.call('PUT', '/v1/agents/reader', registration)).status, 200);
    const id = await requester.request();
    await eventually(() => assert.deepEqual(toldOf(state.text), [id]));
  });

  it('ends an event stream with the key of its agent in the middle of a backlog', async (t) => {
    const parley = await testParley(t);
    const [requester, reader] = [await parley.agent('requester'), await parley.agent('reader')];
    for (let n = 0; n < 30; n++) await requester.request();
    await settled(parley);
    const { state, read, readOn } = await opened(t, parley, reader, '/v1/events', 'after=0.0&limit=2');
    await read();
    const [before] = [toldOf(state.text).length];
    assert.ok(before < 5);
    await parley.admin.call('DELETE', '/v1/agents/reader');
    await readOn();
    assert.equal(toldOf(state.text).length, before, 'nothing of the backlog is told to who was removed');
    assert.ok(state.isOver);
  });

  it('ends an event stream with the key of its agent while no event arrives', async (t) => {
    const parley = await testParley(t);
    const reader = await parley.agent('reader');
    const { state, readOn } = await opened(t, parley, reader);
    const over = readOn();
    await settled(parley);
    await parley.admin.call('POST', '/v1/agents/reader/key');
    await over;
    assert.ok(state.isOver);
  });
});

describe('turn streams', () => {
  it('reads the chunks of a turn once for all its streams, and ends a stream with the key of its agent', async (t) => {
    const { parley, reads } = await counting(t);
    const worker = await groundAgent(parley, 'worker');
    await enqueued(parley.admin, 'worker');
    const { agent_turn_id } = await new Worker(worker).begin();
    const requester = await groundAgent(parley, 'requester');
    const say = (content: string) =>
      worker.call('POST', '/v1/messages', {
        subject: 'cg.v1r3.default.public.str.agent.worker.chunk',
        payload: { agent_turn_id, step_id: 's1', chunk_type: 'content', content },
      });
    await say('one');
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        opened(t, parley, n % 2 ? worker : requester, `/v1/turns/${agent_turn_id}/stream`),
      ),
    );
    for (const { readOn } of streams) readOn();
    const told = (text: string): string[] =>
      [...text.matchAll(/"content":"(\w+)"/g)].map(([, content = '']) => content);
    await eventually(() => {
      for (const { state } of streams) assert.deepEqual(told(state.text), ['one']);
    });
    reads.records = 0;
    for (const content of ['two', 'three']) await say(content);
    await eventually(() => {
      for (const { state } of streams) assert.deepEqual(told(state.text), ['one', 'two', 'three']);
    });
    assert.ok(reads.records < 10, `20 streams and 2 chunks took ${reads.records} reads`);
    await parley.admin.call('DELETE', '/v1/agents/requester');
    await eventually(() => {
      for (const [n, { state }] of streams.entries()) assert.equal(state.isOver, n % 2 === 0);
    });
  });
});

describe('event stream with a backlog', () => {
  it('lets other work run between two pages of a backlog, also if the agent may read none of them', async (t) => {
    const parley = await testParley(t);
    const [requester, reader] = [
      await parley.agent('requester', {}),
      await parley.agent('reader', { capabilities: [] }),
    ];
    await parley.agent('worker', {});
    for (let n = 0; n < 100; n++) await requester.request({ to: 'worker' });
    await settled(parley);
    const first = (await parley.admin.call('GET', '/v1/events?limit=1')).body.cursor;
    const reading = await opened(t, parley, reader, '/v1/events', `after=${encodeURIComponent(first)}&limit=1`);
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const reachedTheEnd = reading.read();
    await requester.request({ to: 'reader' });
    await reachedTheEnd;
    isOver = true;
    assert.ok(turns >= 100, `others ran ${turns} times while 100 pages were read`);
  });
});
