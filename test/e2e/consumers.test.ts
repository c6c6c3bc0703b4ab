import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { enqueued, groundAgent, reports, Worker } from '../support/ground.ts';
import { deployment } from './deployment.ts';

const parley = await deployment();
const PATIENCE_MS = 60_000;

interface Told {
  id: string;
  type: string;
  data: { subject: string; headers: Record<string, string>; payload: Record<string, unknown> };
}

const consume = async (call: 'events' | 'ack' | 'rewind', body: object) => {
  const reply = await parley.admin.call('POST', `/v1/consumers/observer/${call}`, body);
  assert.ok(reply.status < 300, JSON.stringify(reply.body));
  return reply.body;
};

/** What an instance is told until something says that it is over; each part is acknowledged. */
const instance = async (isOver: () => boolean, hear: (event: Told) => void): Promise<void> => {
  for (const until = Date.now() + PATIENCE_MS; !isOver() && Date.now() < until; ) {
    const { events, receipt } = await consume('events', { max: 2, wait: 2, lease: 120 });
    for (const event of events) hear(event);
    if (receipt !== undefined) assert.deepEqual(await consume('ack', { receipt }), { duplicate: false });
  }
};

/** Five states, a step and the end: each record's changes are told in their order, but the end of a turn may be told before its agent's last state. */
const EVENTS_OF_TURN = 7;

/** All that two instances, which share the consumer, are told of a turn up to its end. */
const heardOf = async (turn: () => string | undefined): Promise<Told[]> => {
  const events: Told[] = [];
  const hear = (event: Told): void => {
    if (event.data.payload?.agent_turn_id === turn()) events.push(event);
  };
  const isOver = () => events.length >= EVENTS_OF_TURN && events.some(({ type }) => type === 'evt.agent.task');
  await Promise.all([instance(isOver, hear), instance(isOver, hear)]);
  return events;
};

/** What the protocol requires of each. */
const REQUIRED: Record<string, string[]> = {
  'evt.agent.step': ['agent_turn_id', 'step_id', 'phase'],
  'evt.agent.task': ['agent_turn_id', 'status', 'deliverable_card_id'],
  'evt.agent.state': ['agent_id', 'agent_turn_id', 'status', 'turn_epoch', 'updated_at'],
};

describe('a durable consumer', () => {
  it('shares out between its instances all that becomes of a turn, each once, and reads it again from a time', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    await consume('rewind', { to: 'end' });
    // Somewhat earlier, where the clocks differ.
    const begun = new Date(Date.now() - 5000).toISOString();
    let turn: string | undefined;
    const hearing = heardOf(() => turn);
    turn = await enqueued(parley.admin, merlin.id);
    const held = await worker.take({ wait: 15 });
    await worker.ok(held, 'start');
    await worker.ok(held, 'step', { step_id: 's1', phase: 'think' });
    await worker.suspend(held, ['c1']);
    await reports(merlin, merlin.id, held, 'c1');
    await worker.take({ wait: 15 });
    await worker.deliver(held);
    const told = await hearing;
    const ids = told.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, 'no event went to both');
    const states = told.filter(({ type }) => type === 'evt.agent.state').map(({ data }) => data.payload.status);
    assert.deepEqual(states.toSorted(), ['dispatched', 'idle', 'running', 'running', 'suspended']);
    assert.deepEqual(
      told
        .filter(({ type }) => type !== 'evt.agent.state')
        .map(({ type }) => type)
        .toSorted(),
      ['evt.agent.step', 'evt.agent.task'],
    );
    for (const { type, data } of told) {
      for (const field of REQUIRED[type] ?? assert.fail(type)) {
        assert.notEqual(data.payload[field], undefined, `${field} of ${type}`);
      }
      assert.equal(data.subject, `cg.v1r3.default.public.evt.agent.${merlin.id}.${type.slice('evt.agent.'.length)}`);
      for (const header of ['traceparent', 'CG-Timestamp', 'CG-Version', 'CG-Msg-Type', 'CG-Sender']) {
        assert.ok(data.headers[header], `${header} of ${type}`);
      }
    }
    await consume('rewind', { to: begun });
    const again = await heardOf(() => turn);
    assert.deepEqual(again.map(({ id }) => id).toSorted(), ids.toSorted());
  });
});
