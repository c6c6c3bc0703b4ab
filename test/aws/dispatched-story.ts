import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { taskRef } from '../../shared/model/task.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { enqueued, eventsOf, groundAgent, madeCard, turnOf, Worker } from '../support/ground.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import type { RunningParley } from './running-parley.ts';

const PATIENCE_MS = 60_000;
const LARGE = 'The wall holds. '.repeat(1000);

/** Things that begin, go on and then end by what dispatch does, or whoever does it in its place. */
export interface Story {
  goesOn(): Promise<void>;
  /** Throws as long as it has not. */
  hasEnded(): Promise<void>;
}

export const beginStory = async (parley: RunningParley): Promise<Story> => {
  const chapters = [await tasks(parley), await turnOfAnother(parley), await queuedTurn(parley)];
  return {
    goesOn: async () => {
      for (const { goesOn } of chapters) await goesOn();
    },
    hasEnded: async () => {
      for (const { hasEnded } of chapters) await hasEnded();
    },
  };
};

/** What waits for what is done, what has a limit, a part of what is cancelled, what has failed and will be tried again, and what is gone. */
const tasks = async (parley: RunningParley): Promise<Story> => {
  const [tim, cook] = [await parley.agent(named('tim'), taskFormat), await parley.agent(named('cook'), taskFormat)];
  const lance = await parley.agent(named('lance'), { domains: ['home'] });
  const ask = async (request: object): Promise<void> =>
    assert.equal((await tim.call('POST', '/v1/tasks', tfRequest({ type: 'home.status', ...request }))).status, 202);
  const { graph, id } = graphOf({ soup: [], dinner: ['soup'] });
  const [parent, child, failed, limited] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  return {
    goesOn: async () => {
      const nodes = graph.nodes.map((node) => ({ ...node, agent: cook.id, capability: 'home.dinner' }));
      assert.equal((await tim.call('POST', '/v1/graphs', { ...graph, nodes })).status, 202);
      assert.equal((await cook.send({ id: id('soup'), status: 'completed', result: {} })).status, 202);
      // Its end makes room for others with its key.
      await ask({ id: limited, context: { limits: [{ key: named('oven'), concurrency: 1 }] } });
      assert.equal((await lance.claimed(limited)).status, 202);
      assert.equal((await lance.complete(limited)).status, 202);
      await ask({ id: parent });
      await ask({ id: child, context: { parentTaskId: parent } });
      assert.equal((await tim.call('POST', `/v1/tasks/${parent}/cancel`)).status, 200);
      await ask({ id: failed, payload: { LARGE } });
      assert.equal((await contentOf(parley, failed)).length, 1);
      const again = { error: 'rate_limited', message: 'no', retryAfterSeconds: 60 };
      assert.equal((await lance.fail(failed, again)).status, 202);
      await removed(parley, failed);
    },
    hasEnded: async () => {
      assert.equal((await tim.task(child)).state, 'cancelled');
      assert.equal((await tim.task(id('dinner'))).state, 'requested');
      assert.deepEqual(await contentOf(parley, failed), []);
    },
  };
};

/** A turn of an agent that speaks another protocol: its task, and what comes of it. */
const turnOfAnother = async (parley: RunningParley): Promise<Story> => {
  const cook = await parley.agent(named('cook'), taskFormat);
  const turn = await enqueued(parley.admin, cook.id);
  const { message } = await eventually(async () => (await cook.claim())[0] ?? assert.fail('no task'), PATIENCE_MS);
  return {
    goesOn: async () => {
      assert.equal((await cook.send({ id: message.id, status: 'completed', result: { LARGE } })).status, 202);
    },
    hasEnded: async () => {
      const { status, deliverable_card_id: card } = await turnOf(parley.admin, turn);
      assert.equal(status, 'success');
      assert.equal((await parley.admin.call('GET', `/v1/cards/${card}`)).body.content.LARGE, LARGE);
    },
  };
};

/** A turn that nobody has leased when the one that called it is stopped. */
const queuedTurn = async (parley: RunningParley): Promise<Story> => {
  const [merlin, kay] = [await groundAgent(parley, named('merlin')), await groundAgent(parley, named('kay'))];
  await enqueued(parley.admin, merlin.id);
  const worker = new Worker(merlin);
  const held = await worker.begin();
  await worker.suspend(held, ['delegate']);
  const args = { target_ref: kay.id, instruction: 'help' };
  const { agent_turn_id, turn_epoch } = held;
  const tool_call_card_id = await madeCard(merlin, 'tool.call', { args });
  const payload = { tool_call_id: 'delegate', agent_id: merlin.id, agent_turn_id, turn_epoch, tool_call_card_id };
  const subject = 'cg.v1r3.default.public.cmd.sys.pmo.internal.delegate';
  assert.equal((await merlin.send({ subject, payload })).status, 202);
  return {
    goesOn: async () => {
      assert.equal((await worker.say(held, 'stop')).status, 200);
    },
    hasEnded: async () => {
      const ends = await eventsOf(parley.admin, 'evt.agent.task');
      const [end] = ends.filter(({ data }) => data.subject.includes(`.${kay.id}.`));
      assert.equal(end?.data.payload.status, 'canceled');
      assert.equal(await new Worker(kay).lease(), undefined);
    },
  };
};

const named = (name: string): string => `${name}-${randomUUID()}`;

const contentOf = async (parley: RunningParley, id: string): Promise<string[]> => {
  const listing = await parley.s3('GET', `/${parley.content}?list-type=2`);
  return [...listing.matchAll(/<Key>([^<]+)<\/Key>/g)].flatMap(([, key = '']) => (key.includes(id) ? [key] : []));
};

/** As DynamoDB does when the task's time is over. */
const removed = (parley: RunningParley, id: string): Promise<unknown> => {
  const { pk, sk } = taskRef('default', id);
  return parley.aws('dynamodb', 'DeleteItem', { TableName: parley.table, Key: { pk: { S: pk }, sk: { S: sk } } });
};
