import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ParleyErrorCode } from '../../shared/kernel/errors.ts';
import { about, type Reply, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import type { TestParley } from '../support/test-parley.ts';

export const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A problem as RFC 9457 has it, with the code that programs rely on. */
export const assertRefused = (reply: Reply, status: number, code: ParleyErrorCode): void => {
  assert.equal(`${reply.status} ${reply.body?.code}`, `${status} ${code}`, JSON.stringify(reply.body)?.slice(0, 500));
  assert.equal(reply.headers['content-type'], 'application/problem+json');
  assert.match(reply.headers.traceparent ?? '', TRACEPARENT);
  assert.equal(reply.body.status, status);
  assert.equal(reply.body.type, `urn:parley:problem:${code}`);
  assert.equal(typeof reply.body.title, 'string');
  assert.equal(typeof reply.body.detail, 'string');
};

/** The call is refused, and whatever can be read of tasks, agents, inboxes and events is what it was before. */
export const refusedWithoutTrace = async (
  parley: TestParley,
  status: number,
  code: ParleyErrorCode,
  act: () => Promise<Reply>,
): Promise<Reply> => {
  const before = await everything(parley);
  const reply = await act();
  assertRefused(reply, status, code);
  assert.deepEqual(await everything(parley), before);
  return reply;
};

const WITNESSES = ['witness', 'clerk'] as const;
const [WITNESS, CLERK] = WITNESSES;

export const everything = async (parley: TestParley): Promise<object> => {
  await settled(parley);
  const read = async (path: string) => (await parley.admin.call('GET', path)).body;
  const listed: { id: string; from: string }[] = (await read('/v1/tasks?limit=100')).tasks;
  const agents = (await read('/v1/agents')).agents.filter(({ id }: { id: string }) => id !== WITNESS && id !== CLERK);
  const events: { type: string; data: { from?: string } }[] = (await read('/v1/events?limit=500')).events;
  return {
    tasks: await Promise.all(listed.filter(({ from }) => from !== WITNESS).map(({ id }) => read(`/v1/tasks/${id}`))),
    agents: agents.map(withoutCallTime),
    inboxes: await Promise.all(agents.map(({ id }: { id: string }) => read(`/v1/inbox?agent=${id}&max=100`))),
    // That a message was rejected is told where the audit log has it.
    events: events.filter(({ type, data }) => data.from !== WITNESS && type !== 'message.rejected'),
  };
};

/** Also who is refused was seen. */
const withoutCallTime = ({ health: { lastSeen, ...health }, ...agent }: Seen) => ({
  ...agent,
  health: health.online === undefined ? health : { ...health, lastSeen },
});
interface Seen {
  health: { lastSeen?: string; online?: boolean };
}

/** The task on which the witness of a system reports, and where its events are read on. */
const witnessed = new WeakMap<TestParley['clock'], { task: string; after: string }>();

/** Changes are worked off in order: when a last one has been told, all earlier ones have been. */
export const settled = async ({ admin, clock }: TestParley): Promise<void> => {
  const send = async (message: object) => (await admin.call('POST', '/v1/messages', message)).status;
  const mark = randomUUID();
  let { task, after } = witnessed.get(clock) ?? { task: randomUUID(), after: '' };
  if ((await send(about('task.progress', CLERK, task, { message: mark }))) !== 202) {
    for (const id of WITNESSES) await admin.call('PUT', `/v1/agents/${id}`, { dialect: 'round-table' });
    const request = taskRequest(WITNESS, { to: CLERK });
    assert.equal(await send(request), 202);
    task = request.id;
    assert.equal(await send(about('task.progress', CLERK, task, { message: mark })), 202);
  }
  await eventually(async () => {
    const { events, cursor } = (await admin.call('GET', `/v1/events?limit=500${after}`)).body;
    assert.ok(events.some(({ data }: { data: { message?: string } }) => data.message === mark));
    after = `&after=${cursor}`;
  });
  witnessed.set(clock, { task, after });
};
