import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';
import { EventStream, endOfLog, eventsOf, liveEvents } from './event-stream.ts';

const { address, agent } = await deployment();

interface Logged {
  id: string;
  type: string;
  data: { taskId: string };
}

/** Far more than there can be since a test began, also where others are busy. */
const MOST_PAGES = 1000;

/** Reads on from a cursor until there is nothing more; each page with the cursor behind it. */
const pagesFrom = async (reader: TestAgent, from: string, query: string) => {
  const pages: { events: Logged[]; cursor: string }[] = [];
  for (let cursor = from; pages.length < MOST_PAGES; ) {
    const { status, body } = await reader.call('GET', `/v1/events?after=${encodeURIComponent(cursor)}&${query}`);
    assert.equal(status, 200);
    if (body.cursor === cursor) return pages;
    pages.push(body);
    cursor = body.cursor;
  }
  return assert.fail('the log never ends');
};

const typesOf = (events: { type: string }[]): string[] => events.map(({ type }) => type);

describe('the event log', () => {
  it('tells the life of each task in order, each edge once, and goes on from any cursor', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const start = await endOfLog(address, tim.key);
    const ids = await Promise.all(Array.from({ length: 5 }, () => tim.request({ to: galahad.id })));
    await Promise.all(ids.map((id) => galahad.claimed(id)));
    await Promise.all(ids.map((id) => galahad.complete(id)));
    const isOurs = ({ data }: Logged): boolean => ids.includes(data.taskId);

    const pages = await eventually(async () => {
      const found = await pagesFrom(tim, start, 'limit=4');
      assert.equal(found.flatMap(({ events }) => events).filter(isOurs).length, 15);
      return found;
    });
    assert.ok(pages.every(({ events }) => events.length <= 4));
    const events = pages.flatMap((page) => page.events).filter(isOurs);
    assert.equal(new Set(events.map((event) => event.id)).size, 15);
    for (const id of ids) {
      const life = events.filter(({ data }) => data.taskId === id);
      assert.deepEqual(typesOf(life), ['task.requested', 'task.claimed', 'task.completed']);
    }
    for (const [index, { cursor }] of pages.entries()) {
      const rest = (await pagesFrom(tim, cursor, 'limit=500')).flatMap((page) => page.events).filter(isOurs);
      const expected = pages.slice(index + 1).flatMap((page) => page.events.filter(isOurs));
      assert.deepEqual(rest, expected);
    }
    const claims = await pagesFrom(tim, start, 'type=task.claimed,task.failed&limit=500');
    assert.deepEqual([...new Set(typesOf(claims.flatMap((page) => page.events)))], ['task.claimed']);
  });

  it('tells nothing to an agent that has nothing to do with the task', async () => {
    const [tim, galahad, mordred] = [await agent('tim'), await agent('galahad'), await agent('mordred')];
    const start = await endOfLog(address, tim.key);
    const id = await tim.request({ to: galahad.id });
    await eventsOf(address, tim.key, start, id, 'task.requested');
    const heard = (await pagesFrom(mordred, start, 'limit=500')).flatMap((page) => page.events);
    assert.deepEqual(
      heard.filter(({ data }) => data.taskId === id),
      [],
    );
  });
});

describe('the live stream', () => {
  it('brings the edges of a task as they happen', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const stream = liveEvents(address, tim.key);
    assert.equal((await stream.next()).value, undefined);
    const id = await tim.request({ to: galahad.id });
    /** The next event about the task; each comes before the next step is taken. */
    const next = async () => {
      for (;;) {
        const { value, done } = await stream.next();
        assert.ok(!done, 'the stream ended');
        if (value?.data.taskId === id) return [value.type, value.data.agent, value.data.percent];
      }
    };
    assert.deepEqual(await next(), ['task.requested', undefined, undefined]);
    await galahad.claim({ wait: 10 });
    assert.deepEqual(await next(), ['task.claimed', galahad.id, undefined]);
    await galahad.progress(id, { percent: 60 });
    assert.deepEqual(await next(), ['task.progress', galahad.id, 60]);
    await galahad.complete(id);
    assert.deepEqual(await next(), ['task.completed', galahad.id, undefined]);
    await stream.return(undefined);
  });

  it('goes on where a reader was when its connection broke', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const begun = await endOfLog(address, tim.key);
    const id = await tim.request({ to: galahad.id });
    const stream = new EventStream(address, tim.key, begun);
    for await (const event of stream.read()) if (event?.data.taskId === id) break;
    assert.ok(stream.lastId);
    await galahad.claimed(id);
    await galahad.complete(id);
    const missed = await eventsOf(address, tim.key, stream.lastId, id, 'task.completed');
    assert.deepEqual(
      typesOf(missed).filter((type) => type !== 'task.requested'),
      ['task.claimed', 'task.completed'],
    );
  });
});
