import assert from 'node:assert/strict';
import type { Caller, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';

export const pagesOf = async (caller: Caller, path: string, limit: number): Promise<string[][]> => {
  const pages: string[][] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const at = cursor && `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await caller.call('GET', `${path}limit=${limit}${at}`);
    assert.equal(status, 200);
    assert.ok(body.tasks.length <= limit);
    pages.push(body.tasks.map(({ id }: { id: string }) => id));
    cursor = body.cursor;
  }
  return pages;
};

export const ids = async (caller: Caller, query: string): Promise<string[]> =>
  (await pagesOf(caller, `/v1/tasks?${query}&`, 100)).flat();

/** The list follows the event log, which a request is in a moment later. */
export const announced = (admin: Caller, count: number): Promise<void> =>
  eventually(async () => {
    const { events } = (await admin.call('GET', '/v1/events?type=task.requested&limit=500')).body;
    assert.equal(events.length, count);
  });

export const requestMany = async (agent: TestAgent, count: number): Promise<string[]> => {
  const sent = Array.from({ length: count }, () => agent.request());
  return Promise.all(sent);
};
