import assert from 'node:assert/strict';
import { type Caller, callerWith, type Reply, registered } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import type { TestParley } from '../../support/test-parley.ts';
import { settled } from '../refusal.ts';

/** One call of the API as somebody would make it, and what it is answered. */
export interface ExampleCall {
  params?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: object;
}

export type Send = (caller: Caller, operationId: string, call: ExampleCall) => Promise<Reply>;

const BRIEFING = '5a0e8d22-9a7e-4c36-9d0c-0d3f6b1f7a01';
const QUESTION = '7c1de6a4-2f0b-4b1e-8a55-6d7c0f8e2b02';
const ALERT = '1e9f3b57-64cd-4f0e-b2a8-95c3d0a7e403';
const FAILED = '93b07c1a-58e2-4d6f-a1c4-2e8f7d6b5a04';
const RECIPE = 'c4d2a9e8-1b37-4a5c-9f60-7e3d8c2b1a05';
const GRAPH = 'e7a61c30-4d92-4b8f-8c15-3f9a0d6e2b06';
const BATCH = '2b8f5d14-a093-4c7e-b6d1-8e4f1c7a9d07';
const GAP = 'msg-6f2c9b70-3e81-4a5d-9c24-0b7d8e1f3a08';

const TIDES = { kind: 'request', capability: 'research', input: { topic: 'tides' } };

/** Every call of the API at least once, in an order in which each can be made. What is not of interest has no name. */
export const tellStory = async (parley: TestParley, send: Send): Promise<void> => {
  const { admin, transport } = parley;
  const register = async (id: string, registration: object): Promise<Caller> =>
    registered(transport, admin, id, registration);

  const created = await send(admin, 'putAgent', {
    params: { id: 'researcher' },
    body: { dialect: 'native', capabilities: ['research'] },
  });
  const researcher = callerWith(transport, created.body.key);
  const editor = await register('editor', { dialect: 'native', role: 'coordinator' });
  const planner = await register('planner', { dialect: 'task-format' });
  const cook = await register('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
  const guide = await register('guide', { dialect: 'common-ground' });
  const scout = await register('scout', { dialect: 'agent-os' });
  await register('monitor', { dialect: 'agent-os' });

  await send(admin, 'createKey', { body: { name: 'console', scope: 'operate', expiresAt: '2100-01-01T00:00:00Z' } });
  await send(admin, 'listCapabilities', {});
  await send(admin, 'pauseAgent', { params: { id: 'researcher' }, body: { reason: 'a new version', seconds: 600 } });
  await send(admin, 'drainAgent', { params: { id: 'researcher' } });
  await send(admin, 'resumeAgent', { params: { id: 'researcher' } });
  const queue = { id: 'capability:research' };
  await send(admin, 'pauseQueue', { params: queue, body: { reason: 'a bad release' } });
  await send(admin, 'resumeQueue', { params: queue });
  await send(admin, 'listKeys', {});
  await send(researcher, 'getWhoami', {});
  await send(admin, 'rotateKey', { params: { name: 'console' }, body: { overlapSeconds: 3600 } });
  await send(admin, 'removeKey', { params: { name: 'console' } });
  const project = { params: { name: 'acme' } };
  await send(admin, 'putProject', { ...project, body: { domains: { research: { description: 'Finds things out' } } } });
  await send(admin, 'listProjects', {});
  await send(admin, 'rotateProjectKey', project);
  await send(admin, 'removeProject', project);
  await send(admin, 'importManifest', {
    body: {
      version: '1.0',
      agents: [
        {
          id: 'archivist',
          name: 'Archivist',
          version: '1.0.0',
          category: 'knowledge',
          description: 'Finds documents',
          capabilities: ['archive.find'],
        },
      ],
    },
  });
  const webhook = { params: { id: 'chat' } };
  const types = ['task.completed', 'task.failed'];
  // Nothing is sent to a disabled one.
  const hook = { url: 'https://chat.example/hooks/parley', types, domain: 'research', disabled: true };
  await send(admin, 'putWebhook', { ...webhook, body: hook });
  await send(admin, 'listWebhooks', {});
  await send(admin, 'getWebhook', webhook);
  await send(admin, 'testWebhook', webhook);
  await send(admin, 'listWebhookDeliveries', { ...webhook, query: { limit: '5' } });
  await send(admin, 'removeWebhook', webhook);
  await send(admin, 'listAgents', { query: { limit: '2' } });
  await send(admin, 'getAgent', { params: { id: 'researcher' } });
  await send(editor, 'listDomains', {});

  await send(editor, 'sendMessages', { body: { ...TIDES, id: BRIEFING, priority: 'high', ttlSeconds: 600 } });
  await send(editor, 'getTask', { params: { id: BRIEFING }, query: { wait: '0' } });
  await send(editor, 'listQueues', { query: { capability: 'research' } });
  const limit = { params: { key: 'search-api' } };
  await send(admin, 'setLimit', { ...limit, body: { concurrency: 5, rate: { starts: 100, seconds: 60 } } });
  await send(admin, 'getLimit', limit);
  await send(admin, 'listLimits', {});
  await send(admin, 'removeLimit', limit);
  await send(researcher, 'claimTasks', { body: { max: 1, wait: 20, claimId: 'claim-1' } });
  const step = { id: BRIEFING, name: 'collect' };
  await send(researcher, 'putStep', { params: step, body: { value: { sources: 3 }, attempt: 1 } });
  await send(researcher, 'getStep', { params: step });
  await send(researcher, 'renewLease', { params: { id: BRIEFING } });
  await post(researcher, { kind: 'result', taskId: BRIEFING, output: { summary: 'Twice a day.' } });

  await post(editor, { ...TIDES, id: QUESTION });
  await claim(researcher);
  await post(researcher, { kind: 'question', taskId: QUESTION, prompt: 'How long may it be?' });
  await settled(parley);
  await send(editor, 'answerTask', { params: { id: QUESTION }, body: { input: 500 } });
  await send(researcher, 'releaseTask', { params: { id: QUESTION }, body: {} });
  await send(editor, 'cancelTask', { params: { id: QUESTION } });

  await post(editor, { ...TIDES, id: FAILED, retry: { maxAttempts: 1 } });
  await claim(researcher);
  await post(researcher, { kind: 'failure', taskId: FAILED, code: 'no_sources', message: 'The archive is closed.' });
  await settled(parley);
  await send(editor, 'listTasks', { query: { status: 'completed,failed', limit: '2', count: 'true' } });
  await send(editor, 'listDeadLetters', { query: { limit: '1' } });
  await send(admin, 'getStatistics', { query: { window: '1h', by: 'capability' } });
  await send(editor, 'retryTask', { params: { id: FAILED } });
  await claim(researcher);
  await post(researcher, { kind: 'failure', taskId: FAILED, code: 'no_sources', message: 'The archive is closed.' });
  await settled(parley);
  await send(editor, 'retryDeadLetters', { body: { ids: [FAILED] } });

  const scheduled = {
    cron: '0 6 * * 1-5',
    task: { capability: 'research', input: { topic: 'tides' } },
    missed: 'once',
  };
  const daily = { params: { id: 'daily-tides' } };
  await send(editor, 'putSchedule', { ...daily, body: scheduled });
  await send(editor, 'getSchedule', daily);
  await send(editor, 'listSchedules', { query: { status: 'active' } });
  await send(editor, 'runSchedule', daily);
  await send(editor, 'pauseSchedule', daily);
  await send(editor, 'resumeSchedule', daily);
  await send(editor, 'removeSchedule', daily);

  const queued = { type: 'research', status: ['requested'] };
  const cancelling = { filter: queued, reason: 'the archive stays closed' };
  const { body: operation } = await send(editor, 'cancelTasks', { body: cancelling });
  await settled(parley);
  await send(editor, 'getOperation', { params: { id: operation.operationId }, query: { wait: '0' } });
  await send(editor, 'stopOperation', { params: { id: operation.operationId } });
  await send(editor, 'listOperations', { query: { status: 'completed' } });
  await send(editor, 'retryTasks', { body: { filter: { error: 'no_sources' }, dryRun: true } });

  await send(editor, 'rerunTask', { params: { id: BRIEFING }, body: { input: { topic: 'currents' } } });

  const { body: inbox } = await send(editor, 'readInbox', { query: { max: '1' } });
  await send(editor, 'acknowledgeMessages', { body: { ids: [inbox.messages[0].id] } });

  const recipe = { id: RECIPE, type: 'parse_recipe', payload: { url: 'https://example.com/soup' } };
  await send(planner, 'requestTask', { body: recipe, query: { wait: '0' } });
  await claim(cook);
  const artifacts = [{ name: 'recipe.txt', type: 'text/plain', content: 'Soup: water, salt.' }];
  await post(cook, { id: RECIPE, status: 'completed', result: { title: 'Soup' }, artifacts });
  await settled(parley);
  await send(planner, 'listArtifacts', { params: { id: RECIPE } });
  await send(planner, 'getArtifact', { params: { id: RECIPE, name: 'recipe.txt' } });

  await send(planner, 'requestGraph', {
    body: {
      graphId: GRAPH,
      nodes: [
        { taskId: 'dinner-soup', agent: 'cook', capability: 'parse_recipe', payload: { dish: 'soup' } },
        {
          taskId: 'dinner-menu',
          agent: 'cook',
          capability: 'parse_recipe',
          payload: { dish: 'menu' },
          dependencies: ['dinner-soup'],
        },
      ],
    },
  });
  await send(planner, 'listGraphs', { query: { status: 'in_progress' } });
  await send(planner, 'getGraph', { params: { id: GRAPH } });
  await settled(parley);
  await send(planner, 'cancelGraph', { params: { id: GRAPH } });

  const tasks = [
    { ...TIDES, id: 'batch-north' },
    { ...TIDES, id: 'batch-south', input: { topic: 'currents' } },
  ];
  await send(editor, 'requestBatch', { body: { batchId: BATCH, tasks, failFast: false, deadlineSeconds: 3600 } });
  await send(editor, 'listBatches', { query: { status: 'open' } });
  await send(editor, 'getBatch', { params: { id: BATCH } });
  await send(editor, 'cancelBatch', { params: { id: BATCH }, body: { reason: 'no longer needed' } });

  const alert = await editor.call(
    'POST',
    '/v1/messages',
    { kind: 'message', id: ALERT, to: 'researcher', content: { text: 'The archive opens at nine.' } },
    { 'parley-broadcast': 'all' },
  );
  assert.equal(alert.status, 202, JSON.stringify(alert.body));
  await settled(parley);
  await send(editor, 'getBroadcast', { params: { id: alert.body.broadcastId } });
  await send(scout, 'listUnacknowledgedMessages', {});
  await post(scout, buildGap());
  await settled(parley);
  await send(scout, 'getMessage', { params: { from: 'scout', id: GAP } });
  await send(scout, 'listGaps', { query: { status: 'open' } });
  await send(scout, 'closeGap', { params: { from: 'scout', id: GAP } });
  await send(scout, 'getSequence', { params: { id: 'scout' }, query: { to: 'monitor' } });
  await send(scout, 'getCommonVersion', { params: { id: 'scout' }, query: { with: 'monitor' } });
  await send(scout, 'readAuditLog', { query: { agent: 'scout', limit: '2' } });
  await send(admin, 'listViolations', {});

  const card = await send(editor, 'createCard', {
    body: { type: 'task.instruction', content: { text: 'Explain tides.' } },
  });
  const cardId = card.body.card_id;
  await send(editor, 'getCard', { params: { id: cardId } });
  await send(guide, 'createBox', { body: { kind: 'output', box_id: 'tides-output', cards: [] } });
  await send(guide, 'appendToBox', { params: { id: 'tides-output' }, body: { cards: [cardId] } });
  await send(guide, 'getBox', { params: { id: 'tides-output' } });
  await send(guide, 'listBoxCards', { params: { id: 'tides-output' }, query: { from: '0', limit: '20' } });
  await tellTurns({ editor, guide }, cardId, send);

  const tool = { target_subject: 'cmd.tool.search.execute', parameters: { type: 'object' } };
  await send(admin, 'putTool', { params: { name: 'search' }, body: tool });
  await send(editor, 'listTools', {});
  await send(editor, 'getTool', { params: { name: 'search' } });
  await send(admin, 'removeTool', { params: { name: 'search' } });

  await settled(parley);
  await send(editor, 'readEvents', { query: { limit: '2' } });
  await send(admin, 'listConsumers', {});
  const consumer = { name: 'observer' };
  const { body: events } = await send(admin, 'readConsumerEvents', { params: consumer, body: { max: 2 } });
  await send(admin, 'acknowledgeEvents', { params: consumer, body: { receipt: events.receipt } });
  await send(admin, 'rewindConsumer', { params: consumer, body: { to: 'end' } });

  await send(admin, 'createRelayKey', {});
  await send(admin, 'getRelayPlan', {});
  const item = { kind: 'request', taskId: FAILED, queueGeneration: 1 };
  await send(admin, 'renderRelayItems', { body: { items: [{ id: 'item-1', item }] } });

  await send(admin, 'createAgentKey', { params: { id: 'researcher' } });
  await send(admin, 'removeAgent', { params: { id: 'researcher' } });
  await send(editor, 'getMetrics', {});
  await send(editor, 'getHomePage', {});
  await send(editor, 'getHealth', {});
  await send(editor, 'getOpenApi', {});
  await send(editor, 'getAsyncApi', {});
  await send(editor, 'getSchema', { params: { name: 'native.json' } });
};

const tellTurns = async (
  { editor, guide }: { editor: Caller; guide: Caller },
  cardId: string,
  send: Send,
): Promise<void> => {
  const call = { agent_id: 'guide', mode: 'call', payload: { ask: 'How do tides work?' } };
  await send(editor, 'enqueueTurn', { body: { ...call, correlation_id: 'call-1' } });
  const { body: leased } = await send(guide, 'leaseTurn', { body: { agent_id: 'guide', wait: 0 } });
  const params = { agent_turn_id: leased.agent_turn_id };
  const { turn_epoch } = leased;
  await send(guide, 'startTurn', { params, body: { turn_epoch } });
  await send(guide, 'stepTurn', { params, body: { turn_epoch, step_id: 'step-1', phase: 'planning' } });
  await send(guide, 'suspendTurn', {
    params,
    body: { turn_epoch, waiting: [{ tool_call_id: 'search-1', step_id: 'step-1' }] },
  });
  const report = {
    message_type: 'tool_result',
    turn_epoch,
    agent_id: 'guide',
    tool_call_id: 'search-1',
    agent_turn_id: leased.agent_turn_id,
    after_execution: 'suspend',
    status: 'success',
    tool_result_card_id: cardId,
    recursion_depth: 0,
  };
  await send(guide, 'reportToolResult', { params, body: report });
  await send(guide, 'getTurn', { params });
  await send(guide, 'streamTurn', { params });
  await send(editor, 'listTurns', { query: { agent: 'guide', status: 'queued,leased' } });
  await send(editor, 'getAgentState', { params: { id: 'guide' } });
  const { body: resumed } = await guide.call('POST', '/v1/turns/lease', { agent_id: 'guide' });
  await guide.call('POST', `/v1/turns/${leased.agent_turn_id}/start`, { turn_epoch: resumed.turn_epoch });
  await send(guide, 'deliverTurn', {
    params,
    body: { turn_epoch: resumed.turn_epoch, status: 'success', deliverable_card_id: cardId },
  });
  const second = await editor.call('POST', '/v1/turns', { ...call, correlation_id: 'call-2' });
  await send(editor, 'stopTurn', {
    params: { agent_turn_id: second.body.agent_turn_id },
    body: { turn_epoch: 0, reason: 'no longer needed' },
  });
};

const buildGap = (): object => ({
  id: GAP,
  timestamp: '2026-03-01T12:00:00Z',
  version: '1.0.0',
  from: { agentId: 'scout', instanceId: 'scout-001' },
  to: { agentId: 'monitor', instanceId: 'monitor-001' },
  type: 'gap',
  payload: { content: { missing: 'tide tables of 2025' }, format: 'json', language: 'en', encoding: 'utf-8' },
  context: {
    sessionId: 'session-1',
    userId: 'user-1',
    requestId: 'request-1',
    conversationId: 'conversation-1',
    locale: 'en-US',
    timezone: 'UTC',
  },
  evidence: { sources: [], confidence: 0, citations: [], provenance: [] },
  priority: 'normal',
  ttl: 600,
  retryCount: 0,
});

const post = async (caller: Caller, message: object): Promise<void> => {
  const { status, body } = await caller.call('POST', '/v1/messages', message);
  assert.ok(status === 202, JSON.stringify(body));
};

const claim = (caller: Caller): Promise<void> =>
  eventually(async () => {
    const { body } = await caller.call('POST', '/v1/claims', {});
    assert.equal(body.tasks?.length, 1, JSON.stringify(body));
  });
