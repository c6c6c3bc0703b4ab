import { randomUUID } from 'node:crypto';
import { taskRequest } from '../support/api.ts';
import { called } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { A2A_ACCESS } from './a2a-access-rows.ts';
import type { Ids } from './access-scene.ts';

/** One call, and what becomes of it for whom. */
export interface AccessRow {
  /** Where it goes, if that is not the path of the route; `:held` stands for the id of that name. */
  at?: string;
  body?: (ids: Ids) => object;
  /** The caller if not the requester; the status for that caller and an administrator if not 200. */
  by?: 'holder' | 'executor' | 'scout' | 'admin';
  status?: number;
  /** What another agent of the project is answered. */
  stranger: string;
  /** What the agent of the same name in another project is answered, if not the same. */
  foreign?: string;
  /** What an operator's key must be for, if not `read` for GET, `admin` for what only administrators do, and `agent`. */
  scope?: 'read' | 'operate' | 'admin';
  /** Cards belong to the whole project. */
  isCommon?: true;
}

const MANIFEST = {
  version: '0',
  agents: [{ id: 'scribe', name: 'S', version: '1.0.0', category: 'c', description: 'd', capabilities: ['x.y'] }],
};

const toCook = () => tfRequest({ routing: { source: 'requester', target: 'cook' } });

const said = (more: (ids: Ids) => object = () => ({})) => ({
  body: (ids: Ids) => ({ turn_epoch: ids.epoch, agent_id: 'executor', ...more(ids) }),
  by: 'executor' as const,
});

/** What MCP refuses stands in its result. */
const callStatusTool = (id: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'parley_status', arguments: { id } },
});

/** Every route that asks for a key. Those that read come first; those that change something in an order in which each can. */
export const ACCESS: Record<string, AccessRow> = {
  ...A2A_ACCESS,
  'GET /v1/tasks': { stranger: '200' },
  'GET /v1/tasks/{id}': { at: '/v1/tasks/:held', stranger: '404 task_not_found' },
  'GET /v1/dead-letters': { stranger: '200' },
  'GET /v1/tasks/{id}/artifacts': { at: '/v1/tasks/:done/artifacts', stranger: '404 task_not_found' },
  'GET /v1/tasks/{id}/artifacts/{name}': { at: '/v1/tasks/:done/artifacts/dish', stranger: '404 task_not_found' },
  'GET /v1/tasks/{id}/steps/{name}': {
    at: '/v1/tasks/:held/steps/none',
    status: 404,
    stranger: '404 task_not_found',
  },
  'GET /v1/queues': { stranger: '200' },
  'GET /v1/limits': { by: 'admin', stranger: '403 forbidden', foreign: '403 forbidden' },
  'GET /v1/limits/{key}': { at: '/v1/limits/oven', by: 'admin', stranger: '403 forbidden', foreign: '403 forbidden' },
  'GET /v1/schedules': { stranger: '200' },
  'GET /v1/schedules/{id}': { at: '/v1/schedules/daily', stranger: '404 not_found' },
  'GET /v1/operations': { stranger: '200' },
  'GET /v1/operations/{id}': { at: '/v1/operations/:operation', stranger: '404 not_found' },
  'GET /v1/stats': { by: 'admin', stranger: '403 forbidden', foreign: '403 forbidden' },
  'POST /mcp': { body: ({ held }) => callStatusTool(held), stranger: '200' },
  'POST /mcp/{agent}': { at: '/mcp/holder', body: ({ held }) => callStatusTool(held), stranger: '200' },
  'GET /v1/graphs': { stranger: '200' },
  'GET /v1/batches': { stranger: '200' },
  'GET /v1/turns': { stranger: '200' },
  'GET /v1/graphs/{id}': { at: '/v1/graphs/:graph', stranger: '404 graph_not_found' },
  'GET /v1/batches/{id}': { at: '/v1/batches/:batch', stranger: '404 batch_not_found' },
  'GET /v1/inbox': { at: '/v1/inbox?agent=requester', stranger: '403 from_mismatch', foreign: '200' },
  'GET /v1/messages/unacknowledged': {
    at: '/v1/messages/unacknowledged?agent=requester',
    stranger: '403 from_mismatch',
    foreign: '200',
  },
  'GET /v1/messages/{from}/{id}': { at: '/v1/messages/scout/:gap', by: 'scout', stranger: '404 not_found' },
  'GET /v1/broadcasts/{id}': { at: '/v1/broadcasts/:broadcast', stranger: '404 not_found' },
  'GET /v1/agents': { stranger: '200' },
  'GET /v1/agents/{id}': { at: '/v1/agents/holder', stranger: '200', foreign: '404 agent_not_found' },
  'GET /v1/agents/{id}/sequence': {
    at: '/v1/agents/requester/sequence?to=holder',
    stranger: '403 forbidden',
    foreign: '200',
  },
  'GET /v1/agents/{id}/version': {
    at: '/v1/agents/requester/version?with=holder',
    stranger: '200',
    foreign: '404 agent_not_found',
  },
  'GET /v1/agents/{id}/head': { at: '/v1/agents/executor/head', stranger: '200', foreign: '404 agent_not_found' },
  'GET /v1/turns/{agent_turn_id}': { at: '/v1/turns/:active', stranger: '404 turn_not_found' },
  'GET /v1/turns/{agent_turn_id}/stream': { at: '/v1/turns/:active/stream', stranger: '404 turn_not_found' },
  'GET /v1/events': { at: '/v1/events?limit=500', stranger: '200' },
  'GET /v1/consumers': { stranger: '200' },
  'GET /v1/cards/{id}': { at: '/v1/cards/:card', stranger: '200', foreign: '404 card_not_found', isCommon: true },
  'GET /v1/boxes/{id}': { at: '/v1/boxes/:box', stranger: '200', foreign: '404 box_not_found' },
  'GET /v1/boxes/{id}/cards': {
    at: '/v1/boxes/:box/cards',
    stranger: '200',
    foreign: '404 box_not_found',
    isCommon: true,
  },
  'GET /v1/tools': { stranger: '200' },
  'GET /v1/tools/{name}': { at: '/v1/tools/search', stranger: '200', foreign: '404 tool_not_found' },
  'GET /v1/webhooks': { by: 'admin', stranger: '403 forbidden' },
  'GET /v1/webhooks/{id}': { at: '/v1/webhooks/none', by: 'admin', status: 404, stranger: '403 forbidden' },
  'GET /v1/webhooks/{id}/deliveries': {
    at: '/v1/webhooks/none/deliveries',
    by: 'admin',
    status: 404,
    stranger: '403 forbidden',
  },
  'GET /v1/violations': { by: 'admin', stranger: '403 forbidden' },
  'GET /v1/gaps': { by: 'scout', stranger: '200' },
  'GET /v1/audit-log': { at: '/v1/audit-log?agent=scout', by: 'scout', stranger: '200' },
  'GET /v1/domains': { stranger: '200' },
  'GET /v1/capabilities': { stranger: '200' },
  'GET /v1/keys': { stranger: '200' },
  'GET /v1/whoami': { stranger: '200' },
  'GET /v1/projects': { by: 'admin', stranger: '403 forbidden' },
  'PUT /v1/projects/{name}': {
    at: '/v1/projects/acme',
    body: () => ({ domains: {} }),
    by: 'admin',
    status: 201,
    stranger: '403 forbidden',
  },
  'POST /v1/projects/{name}/key': { at: '/v1/projects/acme/key', by: 'admin', stranger: '403 forbidden' },
  'GET /metrics': { stranger: '200' },
  'DELETE /v1/projects/{name}': { at: '/v1/projects/acme', by: 'admin', status: 204, stranger: '403 forbidden' },
  'GET /v1/relay/plan': { by: 'admin', stranger: '403 forbidden' },
  'POST /v1/relay/render': {
    body: ({ open }) => ({ items: [{ id: 'x', item: { kind: 'request', taskId: open, queueGeneration: 1 } }] }),
    by: 'admin',
    stranger: '403 forbidden',
  },
  'POST /v1/messages': {
    body: () => taskRequest('requester', { to: 'holder' }),
    status: 202,
    stranger: '403 from_mismatch',
    foreign: '422 unknown_agent',
  },
  'POST /v1/tasks': { body: toCook, status: 202, stranger: '403 from_mismatch', foreign: '422 unknown_agent' },
  'PUT /v1/tasks/{id}/steps/{name}': {
    at: '/v1/tasks/:held/steps/collect',
    body: () => ({ value: 1, agent: 'holder' }),
    by: 'holder',
    stranger: '403 from_mismatch',
  },
  'POST /v1/tasks/{id}/renew': {
    at: '/v1/tasks/:held/renew',
    body: () => ({ agent: 'holder' }),
    by: 'holder',
    stranger: '403 from_mismatch',
  },
  'POST /v1/tasks/{id}/release': {
    scope: 'operate',
    at: '/v1/tasks/:held/release',
    body: () => ({ agent: 'holder' }),
    by: 'holder',
    stranger: '403 from_mismatch',
  },
  'POST /v1/tasks/{id}/input': {
    scope: 'operate',
    at: '/v1/tasks/:asking/input',
    body: () => ({ input: 1 }),
    status: 202,
    stranger: '404 task_not_found',
  },
  'POST /v1/tasks/{id}/retry': {
    scope: 'operate',
    at: '/v1/tasks/:failed/retry',
    status: 202,
    stranger: '404 task_not_found',
  },
  'POST /v1/tasks/{id}/cancel': { scope: 'operate', at: '/v1/tasks/:open/cancel', stranger: '404 task_not_found' },
  'PUT /v1/schedules/{id}': {
    at: '/v1/schedules/other',
    body: () => ({ agent: 'requester', cron: '0 6 * * *', task: { capability: 'security.briefing' } }),
    status: 201,
    stranger: '403 from_mismatch',
    foreign: '201',
  },
  'POST /v1/schedules/{id}/pause': {
    scope: 'operate',
    at: '/v1/schedules/daily/pause',
    stranger: '404 not_found',
  },
  'POST /v1/schedules/{id}/resume': {
    scope: 'operate',
    at: '/v1/schedules/daily/resume',
    stranger: '404 not_found',
  },
  'POST /v1/schedules/{id}/run': {
    scope: 'operate',
    at: '/v1/schedules/daily/run',
    status: 202,
    stranger: '404 not_found',
  },
  'POST /v1/tasks/{id}/rerun': {
    scope: 'operate',
    at: '/v1/tasks/:done/rerun',
    body: () => ({ input: 1 }),
    status: 202,
    stranger: '404 task_not_found',
  },
  'POST /v1/tasks/cancel': {
    scope: 'operate',
    body: () => ({ filter: { type: 'none' } }),
    status: 202,
    stranger: '202',
  },
  'POST /v1/tasks/retry': {
    scope: 'operate',
    body: () => ({ filter: { type: 'none' } }),
    status: 202,
    stranger: '202',
  },
  'POST /v1/operations/{id}/stop': {
    scope: 'operate',
    at: '/v1/operations/:operation/stop',
    stranger: '404 not_found',
  },
  'POST /v1/dead-letters/retry': { scope: 'operate', body: ({ failed }) => ({ ids: [failed] }), stranger: '200' },
  'POST /v1/graphs': {
    at: '/v1/graphs?agent=requester',
    body: () => ({
      graphId: randomUUID(),
      nodes: [{ taskId: randomUUID(), agent: 'cook', capability: 'parse_recipe', payload: {} }],
    }),

    status: 202,
    stranger: '403 from_mismatch',
    foreign: '422 unknown_agent',
  },
  'POST /v1/graphs/{id}/cancel': { scope: 'operate', at: '/v1/graphs/:graph/cancel', stranger: '404 graph_not_found' },
  'POST /v1/batches': {
    at: '/v1/batches?agent=requester',
    body: () => ({ tasks: [toCook()] }),

    status: 202,
    stranger: '403 from_mismatch',
    foreign: '422 unknown_agent',
  },
  'POST /v1/batches/{id}/cancel': {
    scope: 'operate',
    at: '/v1/batches/:batch/cancel',
    stranger: '404 batch_not_found',
  },
  'POST /v1/claims': { body: () => ({ agent: 'holder' }), by: 'holder', stranger: '403 from_mismatch' },
  'POST /v1/inbox/ack': {
    body: () => ({ agent: 'requester', ids: ['x'] }),
    stranger: '403 from_mismatch',
    foreign: '200',
  },
  'POST /v1/gaps/{from}/{id}/close': {
    scope: 'operate',
    at: '/v1/gaps/scout/:gap/close',
    by: 'scout',
    stranger: '404 not_found',
  },
  'POST /v1/consumers/{name}/events': {
    at: '/v1/consumers/mine/events',
    body: () => ({}),
    stranger: '404 consumer_not_found',
  },
  'POST /v1/consumers/{name}/ack': {
    at: '/v1/consumers/mine/ack',
    body: ({ receipt }) => ({ receipt }),
    stranger: '404 consumer_not_found',
  },
  'POST /v1/consumers/{name}/rewind': {
    scope: 'operate',
    at: '/v1/consumers/mine/rewind',
    body: () => ({ to: 'end' }),
    status: 204,
    stranger: '404 consumer_not_found',
  },
  'POST /v1/cards': { body: () => ({ type: 'tool.result', content: { x: 1 } }), status: 201, stranger: '201' },
  'POST /v1/boxes': {
    body: () => ({ kind: 'output', agent_id: 'requester' }),
    status: 201,
    stranger: '403 from_mismatch',
    foreign: '201',
  },
  'POST /v1/boxes/{id}/append': {
    at: '/v1/boxes/:box/append',
    body: ({ card }) => ({ cards: [card] }),
    stranger: '403 not_writer',
    foreign: '422 unknown_card',
  },
  'POST /v1/turns': {
    body: () => called('executor', { channel_id: 't_inner' }),
    status: 201,
    stranger: '403 channel_forbidden',
    foreign: '422 unknown_agent',
  },
  'POST /v1/turns/{agent_turn_id}/start': { at: '/v1/turns/:active/start', ...said(), stranger: '403 from_mismatch' },
  'POST /v1/turns/{agent_turn_id}/step': {
    at: '/v1/turns/:active/step',
    ...said(() => ({ step_id: 's', phase: 'p' })),
    stranger: '403 from_mismatch',
  },
  'POST /v1/turns/{agent_turn_id}/suspend': {
    at: '/v1/turns/:active/suspend',
    ...said(() => ({ waiting: [{ tool_call_id: 'c', step_id: 's' }] })),
    stranger: '403 from_mismatch',
  },
  'POST /v1/turns/{agent_turn_id}/reports': {
    at: '/v1/turns/:active/reports',
    ...said(({ active, card }) => ({
      message_type: 'tool_result',
      tool_call_id: 'c',
      agent_turn_id: active,
      after_execution: 'suspend',
      status: 'success',
      tool_result_card_id: card,
      recursion_depth: 0,
    })),
    status: 202,
    stranger: '403 forbidden',
    foreign: '200',
  },
  'POST /v1/turns/lease': { body: () => ({ agent_id: 'executor' }), by: 'executor', stranger: '403 from_mismatch' },
  'POST /v1/turns/{agent_turn_id}/deliver': {
    at: '/v1/turns/:active/deliver',
    ...said(({ card }) => ({ status: 'success', deliverable_card_id: card })),
    stranger: '403 from_mismatch',
  },
  'POST /v1/turns/{agent_turn_id}/stop': {
    scope: 'operate',
    at: '/v1/turns/:queued/stop',
    body: () => ({ turn_epoch: 0 }),
    stranger: '404 turn_not_found',
  },
  'PUT /v1/webhooks/{id}': {
    at: '/v1/webhooks/new',
    body: () => ({ url: 'https://receiver.example/hook', types: ['broadcast.done'], disabled: true }),
    by: 'admin',
    status: 201,
    stranger: '403 forbidden',
  },
  'POST /v1/webhooks/{id}/test': {
    at: '/v1/webhooks/none/test',
    by: 'admin',
    status: 404,
    stranger: '403 forbidden',
  },
  'DELETE /v1/schedules/{id}': { at: '/v1/schedules/daily', status: 204, stranger: '404 not_found' },
  'DELETE /v1/webhooks/{id}': { at: '/v1/webhooks/new', by: 'admin', status: 204, stranger: '403 forbidden' },
  'PUT /v1/tools/{name}': {
    at: '/v1/tools/new',
    body: () => ({ target_subject: 'cmd.tool.x.y', parameters: { type: 'object' } }),
    by: 'admin',
    status: 201,
    stranger: '403 forbidden',
  },
  'DELETE /v1/tools/{name}': { at: '/v1/tools/search', by: 'admin', status: 204, stranger: '403 forbidden' },
  'PUT /v1/limits/{key}': {
    at: '/v1/limits/oven',
    body: () => ({ concurrency: 100 }),
    by: 'admin',
    scope: 'operate',
    stranger: '403 forbidden',
  },
  'DELETE /v1/limits/{key}': {
    at: '/v1/limits/oven',
    by: 'admin',
    status: 204,
    scope: 'operate',
    stranger: '403 forbidden',
  },
  'POST /v1/queues/{id}/pause': {
    at: '/v1/queues/domain%3Asecurity/pause',
    by: 'admin',
    scope: 'operate',
    stranger: '403 forbidden',
  },
  'POST /v1/queues/{id}/resume': {
    at: '/v1/queues/domain%3Asecurity/resume',
    by: 'admin',
    scope: 'operate',
    stranger: '403 forbidden',
  },
  ...Object.fromEntries(
    ['pause', 'drain', 'resume'].map((action) => [
      `POST /v1/agents/{id}/${action}`,
      {
        at: `/v1/agents/monitor/${action}`,
        scope: 'operate' as const,
        stranger: '403 forbidden',
        foreign: '404 agent_not_found',
      },
    ]),
  ),
  'POST /v1/manifest': { body: () => MANIFEST, by: 'admin', stranger: '403 forbidden' },
  'PUT /v1/agents/{id}': {
    at: '/v1/agents/new',
    body: () => ({ dialect: 'round-table' }),
    by: 'admin',
    status: 201,
    stranger: '403 forbidden',
  },
  'POST /v1/agents/{id}/key': { at: '/v1/agents/holder/key', by: 'admin', stranger: '403 forbidden' },
  'DELETE /v1/agents/{id}': { at: '/v1/agents/monitor', by: 'admin', status: 204, stranger: '403 forbidden' },
  'POST /v1/relay/key': { by: 'admin', stranger: '403 forbidden' },
  'POST /v1/keys': {
    body: () => ({ name: 'more', agent: 'requester', scope: 'read' }),
    by: 'admin',
    status: 201,
    stranger: '403 forbidden',
  },
  'POST /v1/keys/{name}/rotate': {
    at: '/v1/keys/spare/rotate',
    body: () => ({ agent: 'requester' }),
    scope: 'admin',
    stranger: '403 from_mismatch',
    foreign: '404 key_not_found',
  },
  'DELETE /v1/keys/{name}': {
    at: '/v1/keys/spare?agent=requester',
    by: 'admin',
    status: 204,
    stranger: '403 forbidden',
  },
};
