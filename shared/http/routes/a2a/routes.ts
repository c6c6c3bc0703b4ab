import * as z from 'zod';
import { GATEWAY } from '../../../adapters/a2a/agent-card.ts';
import { buildCardKeySet, CARD_KEYS_PATH } from '../../../adapters/a2a/sign-card.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { jsonObject } from '../../../kernel/json/parse-or-throw.ts';
import {
  defineOpenRoute,
  largeBodyLimit,
  noBody,
  type Route,
  type RouteCall,
  type RouteResponse,
} from '../../route.ts';
import { answerCard, answerCatalog } from './cards.ts';
import { A2aError } from './errors.ts';
import { answerJsonRpc } from './json-rpc-binding.ts';
import { answerRest, type RestCall, type RestOperation } from './rest-binding.ts';

const Answer = z.looseObject({});
const HEADERS = {
  'A2A-Version': '`1.0`. Without it the call is refused, as one of 0.3',
  'A2A-Extensions': 'extensions that the client knows, separated by commas',
};
const COMMON = {
  query: z.looseObject({}),
  access: 'agent-or-admin',
  hasIngressChecks: false,
  isForeign: true,
  getMaxBodyBytes: largeBodyLimit,
} as const;

const defineJsonRpc = (operationId: string, path: string, summary: string): Route => ({
  ...COMMON,
  operationId,
  scope: 'read',
  method: 'POST',
  path,
  summary,
  headers: HEADERS,
  body: jsonObject,
  responses: { 200: { description: 'The result or the error', schema: Answer, otherType: 'text/event-stream' } },
  handle: (call) => answerJsonRpc({ ...call, params: { agent: GATEWAY, ...call.params } }),
});

interface RestDefinition {
  operationId: string;
  method: Route['method'];
  /** Below the address of the agent. */
  path: string;
  summary: string;
  resolve: (call: RouteCall) => RestCall;
}

/** With a tenant before it too, as A2A has it. */
const defineRest = ({ operationId, method, path, summary, resolve }: RestDefinition): Route[] =>
  [`/a2a/{agent}${path}`, `/a2a/{agent}/{tenant}${path}`].map((full) => ({
    ...COMMON,
    method,
    path: full,
    operationId: full.includes('{tenant}') ? `${operationId}OfTenant` : operationId,
    scope: method === 'GET' ? 'read' : 'agent',
    summary: full.includes('{tenant}') ? `${summary} (with a tenant)` : summary,
    headers: HEADERS,
    body: method === 'POST' ? jsonObject : noBody,
    responses: { 200: { description: 'As A2A has it', schema: Answer, otherType: 'text/event-stream' } },
    handle: (call) => answerRest(call, resolve),
  }));

const named =
  (operation: RestOperation, toParams: (call: RouteCall) => JsonObject = () => ({})) =>
  (call: RouteCall): RestCall => ({ operation, params: toParams(call) });

const toTask = ({ params: { id } }: RouteCall): JsonObject => ({ id });
const toTaskOfConfig = ({ params: { id, config } }: RouteCall): JsonObject => ({ taskId: id, id: config });

const VERBS: Record<string, RestOperation> = { cancel: 'CancelTask', subscribe: 'SubscribeToTask' };

/** `<id>:<verb>`; an id may have a colon. */
const resolveVerb = ({ params: { id = '' }, request }: RouteCall): RestCall => {
  const colon = id.lastIndexOf(':');
  const operation = VERBS[id.slice(colon + 1)];
  if (colon < 0 || !operation) throw new A2aError('METHOD_NOT_FOUND', `There is nothing at ${request.path}.`);
  return { operation, params: { id: id.slice(0, colon) } };
};

/** GET subscribes, too. */
const resolveGet = (call: RouteCall): RestCall =>
  call.params.id?.endsWith(':subscribe') ? resolveVerb(call) : named('GetTask', toTask)(call);

const CONFIGS = '/tasks/{id}/pushNotificationConfigs';

const REST: RestDefinition[] = [
  {
    operationId: 'agentSendMessage',
    method: 'POST',
    path: '/message:send',
    summary: 'A2A: send a message',
    resolve: named('SendMessage'),
  },
  {
    operationId: 'agentStreamMessage',
    method: 'POST',
    path: '/message:stream',
    summary: 'A2A: send a message, and follow its task',
    resolve: named('SendStreamingMessage'),
  },
  {
    operationId: 'agentListTasks',
    method: 'GET',
    path: '/tasks',
    summary: 'A2A: list tasks by their last change',
    resolve: named('ListTasks'),
  },
  {
    operationId: 'agentGetExtendedCard',
    method: 'GET',
    path: '/extendedAgentCard',
    summary: 'A2A: the agent card as holders of a key see it',
    resolve: named('GetExtendedAgentCard'),
  },
  {
    operationId: 'agentGetTask',
    method: 'GET',
    path: '/tasks/{id}',
    summary: 'A2A: get a task, or follow it: `<id>:subscribe`',
    resolve: resolveGet,
  },
  {
    operationId: 'agentChangeTask',
    method: 'POST',
    path: '/tasks/{id}',
    summary: 'A2A: `<id>:cancel` cancels a task, `<id>:subscribe` follows it',
    resolve: resolveVerb,
  },
  {
    operationId: 'agentCreatePushConfig',
    method: 'POST',
    path: CONFIGS,
    summary: 'A2A: have the changes of a task pushed',
    resolve: named('CreateTaskPushNotificationConfig', ({ params: { id } }) => ({ taskId: id })),
  },
  {
    operationId: 'agentListPushConfigs',
    method: 'GET',
    path: CONFIGS,
    summary: 'A2A: list where the changes of a task are pushed to',
    resolve: named('ListTaskPushNotificationConfigs', ({ params: { id } }) => ({ taskId: id })),
  },
  {
    operationId: 'agentGetPushConfig',
    method: 'GET',
    path: `${CONFIGS}/{config}`,
    summary: 'A2A: get one push notification configuration',
    resolve: named('GetTaskPushNotificationConfig', toTaskOfConfig),
  },
  {
    operationId: 'agentDeletePushConfig',
    method: 'DELETE',
    path: `${CONFIGS}/{config}`,
    summary: 'A2A: delete a push notification configuration',
    resolve: named('DeleteTaskPushNotificationConfig', toTaskOfConfig),
  },
];

const defineCard = (
  operationId: string,
  path: string,
  summary: string,
  answer: (call: RouteCall) => Promise<RouteResponse>,
): Route => ({
  operationId,
  method: 'GET',
  path,
  summary,
  isForeign: true,
  scope: 'read',
  getMaxBodyBytes: () => 0,
  headers: { 'If-None-Match': 'the `ETag` of an earlier answer' },
  query: z.looseObject({}),
  body: noBody,
  access: 'open',
  mayHaveKey: true,
  hasIngressChecks: false,
  responses: { 200: { description: 'The document', schema: Answer }, 304: { description: 'It has not changed' } },
  handle: answer,
});

const cardKeysRoute: Route = {
  ...defineOpenRoute(
    {
      operationId: 'getCardKeys',
      method: 'GET',
      path: CARD_KEYS_PATH,
      summary: 'The keys that verify the signatures of agent cards, as a JSON Web Key Set',
      responses: { 200: { description: 'The keys', schema: z.object({ keys: z.array(Answer) }) } },
    },
    async (deps) => ({ status: 200, body: await buildCardKeySet(deps), headers: { 'cache-control': 'max-age=3600' } }),
  ),
  isForeign: true,
};

export const a2aRoutes: Route[] = [
  defineCard(
    'getGatewayCard',
    '/.well-known/agent-card.json',
    'The agent card of the whole project',
    ({ deps, request }) => answerCard(deps, request, GATEWAY),
  ),
  defineCard('getAgentCatalog', '/.well-known/ai-catalog.json', 'The agent cards of a project', ({ deps, request }) =>
    answerCatalog(deps, request),
  ),
  defineCard(
    'getAgentCard',
    '/a2a/{agent}/.well-known/agent-card.json',
    'The agent card of an agent',
    ({ deps, request, params }) => answerCard(deps, request, params.agent ?? ''),
  ),
  cardKeysRoute,
  defineJsonRpc(
    'callGatewayMethod',
    '/a2a',
    'A2A over JSON-RPC, for the whole project or, with a tenant, for one agent',
  ),
  defineJsonRpc('callAgentMethod', '/a2a/{agent}', 'A2A over JSON-RPC, for one agent'),
  ...REST.flatMap(defineRest),
];
