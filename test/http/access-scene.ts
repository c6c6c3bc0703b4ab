import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { setAdminKey } from '../../shared/identity/auth/set-operator-key.ts';
import { agentOsAgent, content } from '../support/agent-os-agent.ts';
import { about, type Caller, callerWith, registered } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { settled } from './refusal.ts';

/** Stands in all that is between the owners of something, and must reach nobody else. */
export const SECRET = 'open-sesame';
const secret = { word: SECRET };
/** What only its channel may hear of. */
const INNER = 't_inner';

/** A project with one of everything in it, and another with agents of the same names. */
export const accessScene = async (t: TestContext) => {
  const { default: project } = baseConfig.projects;
  assert.ok(project);
  const mine = { project: 'default', types: ['task.*'], agents: ['requester'], channels: ['public'] };
  const config = { projects: { default: project, other: { ...project, relay: false } }, consumers: { mine } };
  const parley = await testParley(t, { config });
  const { admin, transport, agent } = parley;

  const channels = ['public', INNER];
  const requester = await agent('requester', { role: 'coordinator', channels });
  const holder = await agent('holder');
  const cook = await agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
  const executor = await groundAgent(parley, 'executor', { channels });
  const scout = await agentOsAgent(parley, 'scout');
  await agentOsAgent(parley, 'monitor');
  const stranger = await agent('intruder', { capabilities: ['home.scene'] });

  const key = generateKey('other', ADMIN_OWNER);
  await setAdminKey(parley.parley.deps.records, 'other', key, 'the-admin-of-other');
  const foreignAdmin = callerWith(transport, key);
  const foreigner = await registered(transport, foreignAdmin, 'requester', { role: 'coordinator', channels });

  const asks = async (): Promise<string> => {
    const request = tfRequest({ payload: secret, routing: { source: 'requester', target: 'cook' } });
    assert.equal((await requester.send(request)).status, 202);
    return request.id;
  };
  const held = await requester.request({ to: 'holder', payload: { params: secret } });
  assert.equal((await holder.claim()).length, 1);
  await holder.progress(held, { percent: 1, message: SECRET });
  const open = await requester.request({ to: 'holder', payload: { params: secret } });
  const failed = await requester.request({ to: 'holder', payload: { params: secret } });
  await holder.fail(failed, { error: 'skill_missing', message: SECRET });
  const [done, asking] = [await asks(), await asks()];
  assert.equal((await cook.claim({ max: 2 })).length, 2);
  const artifacts = [{ name: 'dish', type: 'text/plain', content: SECRET }];
  await cook.send({ id: done, status: 'completed', result: secret, artifacts });
  await cook.send({ id: asking, status: 'input_required', input: { prompt: SECRET } });
  const gap = (await scout.say('gap', 'monitor', { payload: content(secret) })).id;
  const { graph } = graphOf({ soup: [] });
  assert.equal((await requester.call('POST', '/v1/graphs', graph)).status, 202);
  const batch = randomUUID();
  const tasks = [tfRequest({ payload: secret, routing: { source: 'requester', target: 'cook' } })];
  assert.equal((await requester.call('POST', '/v1/batches', { batchId: batch, tasks })).status, 202);
  const alert = about('broadcast.alert', 'requester', randomUUID(), { all: 'hear' });
  const { broadcastId } = (await requester.send(alert)).body;
  assert.ok(broadcastId);

  const wanted = { filter: { type: 'none' }, reason: SECRET };
  const operation = (await requester.call('POST', '/v1/tasks/cancel', wanted)).body.operationId;
  assert.ok(operation);
  const scheduled = { cron: '0 6 * * *', task: { capability: 'security.briefing', input: secret } };
  assert.equal((await requester.call('PUT', '/v1/schedules/daily', scheduled)).status, 201);
  const card = (await requester.call('POST', '/v1/cards', { type: 'task.instruction', content: secret })).body.card_id;
  const box = (await requester.call('POST', '/v1/boxes', { kind: 'output', cards: [card] })).body.box_id;
  const tool = { target_subject: 'cmd.tool.search.execute', parameters: { type: 'object' } };
  assert.equal((await admin.call('PUT', '/v1/tools/search', tool)).status, 201);
  const worker = new Worker(executor);
  const active = await enqueued(requester, 'executor', { channel_id: INNER, payload: secret });
  const { turn_epoch: epoch } = await worker.take();
  const queued = await enqueued(requester, 'executor', { channel_id: INNER, payload: secret });
  const relay = callerWith(transport, (await admin.call('POST', '/v1/relay/key')).body.key);
  const spare = { name: 'spare', agent: 'requester', scope: 'agent' };
  assert.equal((await admin.call('POST', '/v1/keys', spare)).status, 201);
  await settled(parley);
  await eventually(async () => assert.ok((await requester.inbox()).length > 0));
  const { receipt } = (await requester.call('POST', '/v1/consumers/mine/events', { max: 1 })).body;
  assert.ok(receipt);

  const callers: Record<string, Caller> = { admin, requester, holder, executor, scout };
  const ids = {
    held,
    open,
    failed,
    done,
    asking,
    gap,
    batch,
    operation,
    graph: graph.graphId,
    broadcast: broadcastId,
    card,
    box,
    receipt,
  };
  return { parley, callers, stranger, foreigner, foreignAdmin, relay, ids: { ...ids, active, queued, epoch } };
};

export type Ids = Awaited<ReturnType<typeof accessScene>>['ids'];
