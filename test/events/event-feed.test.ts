import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** What a stream has brought so far; nothing more is asked of it than `wanted` pieces at a time. */
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

/** The tasks that a stream told of with this type, in its order. */
const toldOf = (text: string, type = 'task.requested'): string[] =>
  [...text.matchAll(/^data: (.*)$/gm)]
    .map(([, data = '']) => JSON.parse(data))
    .filter((event) => event.type === type)
    .map((event) => event.data.taskId);

/** A system that counts how often the log and the records are read. */
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

describe('streams of events', () => {
  it('read the log once for all of them, and tell each what it may hear and asks for', async (t) => {
    const { parley, reads } = await counting(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const kay = await parley.agent('kay', { capabilities: ['home.scene'] });
    await settled(parley);
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, n) => opened(t, parley, n % 2 ? tim : galahad, '/v1/events', `limit=${n + 1}`)),
    );
    const kays = await opened(t, parley, kay);
    const ends = await opened(t, parley, tim, '/v1/events', 'type=task.completed');
    for (const { readOn } of [...streams, kays, ends]) readOn();
    await settled(parley);
    const id = await tim.request();
    await eventually(() => {
      for (const { state } of streams) assert.deepEqual(toldOf(state.text), [id]);
    });
    reads.log = 0;
    const home = await tim.request({ payload: { task: 'home.scene' } });
    await galahad.complete(id);
    await eventually(() => {
      for (const [n, { state }] of streams.entries()) {
        assert.deepEqual(toldOf(state.text), n % 2 ? [id, home] : [id]);
        assert.deepEqual(toldOf(state.text, 'task.completed'), [id]);
      }
      assert.deepEqual(toldOf(kays.state.text), [home]);
      assert.deepEqual(toldOf(ends.state.text, 'task.completed'), [id]);
    });
    assert.ok(reads.log < 15, `22 streams and 3 events took ${reads.log} reads`);
    assert.ok(!kays.state.text.includes(id));
    assert.deepEqual(toldOf(ends.state.text), []);
  });

  it('read nothing while nobody follows', async (t) => {
    const { parley, reads } = await counting(t);
    const tim = await parley.agent('tim');
    const { gone, readOn, state } = await opened(t, parley, tim);
    readOn();
    gone.abort();
    await eventually(() => assert.ok(state.isOver));
    reads.log = 0;
    for (let n = 0; n < 5; n++) await tim.request();
    assert.equal(reads.log, 0);
  });

  it('tell a reader that fell behind everything once and in order, and it disturbs nobody', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const [slow, fast] = [await opened(t, parley, tim), await opened(t, parley, tim)];
    fast.readOn();
    const ids: string[] = [];
    // More stretches than are at hand: each is told before the next begins.
    for (let n = 0; n < 12; n++) {
      ids.push(await tim.request());
      await eventually(() => assert.deepEqual(toldOf(fast.state.text), ids));
    }
    slow.readOn();
    await eventually(() => assert.deepEqual(toldOf(slow.state.text), ids));
    ids.push(await tim.request());
    await eventually(() => {
      assert.deepEqual(toldOf(slow.state.text), ids);
      assert.deepEqual(toldOf(fast.state.text), ids);
    });
  });

  it('follow what an agent serves', async (t) => {
    const parley = await testParley(t);
    const [tim, kay] = [await parley.agent('tim'), await parley.agent('kay', { capabilities: ['home.scene'] })];
    const { state, readOn } = await opened(t, parley, kay);
    readOn();
    await tim.request();
    await settled(parley);
    const registration = { dialect: 'round-table', capabilities: ['security.briefing'] };
    assert.equal((await parley.admin.call('PUT', '/v1/agents/kay', registration)).status, 200);
    const id = await tim.request();
    await eventually(() => assert.deepEqual(toldOf(state.text), [id]));
  });

  it('end with the key, in the middle of what was there before', async (t) => {
    const parley = await testParley(t);
    const [tim, eve] = [await parley.agent('tim'), await parley.agent('eve')];
    for (let n = 0; n < 30; n++) await tim.request();
    await settled(parley);
    const { state, read, readOn } = await opened(t, parley, eve, '/v1/events', 'after=0.0&limit=2');
    await read();
    const [before] = [toldOf(state.text).length];
    assert.ok(before < 5);
    await parley.admin.call('DELETE', '/v1/agents/eve');
    await readOn();
    assert.equal(toldOf(state.text).length, before, 'nothing of the backlog is told to who was removed');
    assert.ok(state.isOver);
  });

  it('end with the key where nothing happens', async (t) => {
    const parley = await testParley(t);
    const eve = await parley.agent('eve');
    const { state, readOn } = await opened(t, parley, eve);
    const over = readOn();
    await settled(parley);
    await parley.admin.call('POST', '/v1/agents/eve/key');
    await over;
    assert.ok(state.isOver);
  });
});

describe('streams of a turn', () => {
  it('read its chunks once for all of them, and end with the key', async (t) => {
    const { parley, reads } = await counting(t);
    const merlin = await groundAgent(parley, 'merlin');
    await enqueued(parley.admin, 'merlin');
    const { agent_turn_id } = await new Worker(merlin).begin();
    const arthur = await groundAgent(parley, 'arthur');
    const say = (content: string) =>
      merlin.call('POST', '/v1/messages', {
        subject: 'cg.v1r3.default.public.str.agent.merlin.chunk',
        payload: { agent_turn_id, step_id: 's1', chunk_type: 'text', content },
      });
    await say('one');
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        opened(t, parley, n % 2 ? merlin : arthur, `/v1/turns/${agent_turn_id}/stream`),
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
    await parley.admin.call('DELETE', '/v1/agents/arthur');
    await eventually(() => {
      for (const [n, { state }] of streams.entries()) assert.equal(state.isOver, n % 2 === 0);
    });
  });
});

describe('a stream that is far behind', () => {
  it('lets others run between any two pages of the log, also where it may hear nothing of them', async (t) => {
    const parley = await testParley(t);
    const [tim, eve] = [await parley.agent('tim', {}), await parley.agent('eve', { capabilities: [] })];
    await parley.agent('bors', {});
    for (let n = 0; n < 100; n++) await tim.request({ to: 'bors' });
    await settled(parley);
    const first = (await parley.admin.call('GET', '/v1/events?limit=1')).body.cursor;
    const reading = await opened(t, parley, eve, '/v1/events', `after=${encodeURIComponent(first)}&limit=1`);
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const reachedTheEnd = reading.read();
    await tim.request({ to: 'eve' });
    await reachedTheEnd;
    isOver = true;
    assert.ok(turns >= 100, `others ran ${turns} times while 100 pages were read`);
  });
});
