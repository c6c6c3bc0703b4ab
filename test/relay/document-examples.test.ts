import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { defineConfig } from '../../shared/config/config.ts';
import {
  AGENT_OS,
  MESSAGE_ROUTING,
  ROUND_TABLE,
  TASK_FORMAT,
  TASK_FORMAT_RESPONSE,
} from '../dialects/document-messages.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, inboxOf, nextOf, type RelaySite, relaySite } from '../support/relay-site.ts';

type Inbox = Awaited<ReturnType<typeof inboxOf>>;

const publish = ({ client }: RelaySite, subject: string, message: object | string) =>
  jetstream(client).publish(subject, typeof message === 'string' ? message : JSON.stringify(message));

const send = (site: RelaySite, message: object | string) => publish(site, 'parley.default.send', message);

/** What Parley adds is no fault; what it leaves out or changes is one. */
const assertSame = (read: object, written: object): void => assert.deepEqual({ ...read, ...written }, read);

/** What stands in between is for the same reader: claims and progress. */
const assertReads = async (inbox: Inbox, written: object, id: 'id' | 'msg_id' = 'id'): Promise<void> => {
  for (;;) {
    const { body } = await nextOf(inbox);
    if (body[id] !== Reflect.get(written, id)) continue;
    assertSame(body, written);
    return;
  }
};

const countDeadLetters = async ({ client }: RelaySite): Promise<number> =>
  (await (await jetstreamManager(client)).streams.info('PARLEY_DEAD_LETTERS')).state.messages;

/** All agents on NATS, and what stands there for each. */
const openTeam = async (t: TestContext, dialect: string, ids: Iterable<string>, more: (id: string) => object) => {
  const site = await relaySite(t);
  for (const id of ids) await site.agent(id, { dialect, transport: 'nats', ...more(id) });
  await site.relay();
  const inboxes = new Map<string, Inbox>();
  for (const id of ids) inboxes.set(id, await inboxOf(site, id));
  return { site, inbox: (id: string): Inbox => inboxes.get(id) ?? assert.fail(id) };
};

const withSecurity = (transport: 'http' | 'nats') =>
  defineConfig({
    projects: { default: { domains: { security: { description: 'briefings', transport } }, relay: true } },
  });

describe('on NATS, the examples of the document of', () => {
  it('Round Table go through from a knight there', async (t) => {
    const { request, claimed, progress, result, heartbeat } = ROUND_TABLE;
    const site = await relaySite(t, { config: withSecurity('nats') });
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: heartbeat.payload.capabilities });
    await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', { durable_name: 'knights' });
    assert.equal((await tim.send(request)).status, 202);
    const { subject, body } = await nextOf(tasks);
    assert.equal(subject, 'roundtable.tasks.security.briefing');
    assertSame(body, request);
    await publish(site, 'roundtable.events.task.claimed', claimed);
    await publish(site, 'roundtable.events.task.progress', progress);
    await publish(site, 'roundtable.heartbeat.galahad', heartbeat);
    await eventually(async () =>
      assert.equal((await tim.task(request.id)).progress?.percent, progress.payload.percent),
    );
    await publish(site, `roundtable.results.security.${request.id}`, result);
    await eventually(async () => assertSame((await tim.inbox())[0], result));
    await eventually(async () => {
      const { health } = (await tim.call('GET', '/v1/agents/galahad')).body;
      assert.equal(health.model, heartbeat.payload.model);
    });
    assert.equal(await countDeadLetters(site), 0);
  });

  it('Round Table go through from a requester there', async (t) => {
    const { request, claimed, progress, result } = ROUND_TABLE;
    const site = await relaySite(t, { config: withSecurity('http') });
    const galahad = await site.agent('galahad', { capabilities: ['security.briefing'] });
    await site.agent('tim', { transport: 'nats' });
    await site.relay();
    const events = await consumerOf(site.client, 'ROUNDTABLE_EVENTS', { durable_name: 'events' });
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'results' });
    await publish(site, 'roundtable.tasks.security.briefing', request);
    const [task] = await galahad.claim({ wait: 10 });
    assertSame(task.message, request);
    for (const message of [claimed, progress, result]) assert.equal((await galahad.send(message)).status, 202);
    // What was reported over HTTP has an id of its own here.
    assert.equal((await nextOf(events)).body.type, claimed.type);
    const [told, ended] = [(await nextOf(events)).body, (await nextOf(results)).body];
    for (const [read, { type, correlationId, payload }] of [
      [told, progress],
      [ended, result],
    ] as const)
      assertSame(read, { type, from: 'galahad', correlationId, payload });
    assert.equal(await countDeadLetters(site), 0);
  });

  it('AgentOS go through', async (t) => {
    const { query, response, error, gap } = AGENT_OS;
    const ids = new Set([query, response, error, gap].flatMap(({ from, to }) => [from.agentId, to.agentId]));
    const { site, inbox } = await openTeam(t, 'agent-os', ids, () => ({}));
    for (const message of [query, response, error, gap]) {
      await send(site, message);
      await assertReads(inbox(message.to.agentId), message);
    }
    assert.equal(await countDeadLetters(site), 0);
  });

  it('Task Format go through, but for a response with `[...]`, which is no JSON', async (t) => {
    const { request, errorBlock, artifactsBlock } = TASK_FORMAT;
    const ids = ['orchestrator', 'cooking-agent'];
    const { site, inbox } = await openTeam(t, 'task-format', ids, () => ({ capabilities: [request.type] }));
    await send(site, request);
    const { body } = await nextOf(inbox('cooking-agent'));
    for (const block of ['payload', 'context', 'routing', 'observability'] as const)
      assertSame(body[block], request[block]);
    await send(site, TASK_FORMAT_RESPONSE);
    await eventually(async () => assert.equal(await countDeadLetters(site), 1));
    const response = { ...JSON.parse(TASK_FORMAT_RESPONSE.replaceAll('[...]', '["..."]')), ...artifactsBlock };
    await send(site, response);
    const readEnd = async (status: string) => {
      for (;;) {
        const read = (await nextOf(inbox('orchestrator'))).body;
        if (read.status === status) return read;
      }
    };
    const { id, result } = response;
    assertSame(await readEnd('completed'), { id, status: 'completed', result, ...artifactsBlock });
    const again = { ...request, id: '550e8400-e29b-41d4-a716-446655440001' };
    await send(site, again);
    await nextOf(inbox('cooking-agent'));
    await send(site, { id: again.id, status: 'failed', ...errorBlock, metadata: { agent: 'cooking-agent' } });
    await eventually(async () => {
      const { lastError } = (await site.admin.call('GET', `/v1/tasks/${again.id}`)).body;
      assertSame(lastError ?? {}, errorBlock.error);
    });
    assert.equal(await countDeadLetters(site), 1);
  });

  it('Message Routing go through', async (t) => {
    const { statusUpdate, delegation, result, command, heartbeat, fullDelegation, fullResult } = MESSAGE_ROUTING;
    const messages = [statusUpdate, delegation, result, command, heartbeat, fullDelegation, fullResult];
    const ids = new Set(messages.flatMap(({ from, to }) => [from, to]));
    const { site, inbox } = await openTeam(t, 'message-routing', ids, (id) =>
      id === command.from ? { role: 'coordinator' } : {},
    );
    for (const message of messages) {
      await send(site, message);
      await assertReads(inbox(message.to), message, 'msg_id');
    }
    await eventually(async () => {
      const task = (await site.admin.call('GET', `/v1/tasks/${fullDelegation.msg_id}`)).body;
      assert.deepEqual([task.status, task.result], ['completed', fullResult.payload]);
    });
    assert.equal(await countDeadLetters(site), 0);
  });
});
