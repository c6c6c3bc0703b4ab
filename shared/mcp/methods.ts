import type { JsonObject } from '../kernel/json/json.ts';
import { isStreamed, type McpAnswer } from './answer.ts';
import { complete } from './completion.ts';
import type { McpContext } from './context.ts';
import { discover, initialize } from './discover.ts';
import { listen } from './listen.ts';
import { isModern, TASKS_EXTENSION } from './mcp-call.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { listResources, listResourceTemplates, readResource } from './resources.ts';
import { RPC_CODES, RpcError } from './rpc-error.ts';
import { cancelMcpTask, getMcpTask, updateMcpTask } from './task-methods.ts';
import { runTool } from './tools/call-tool.ts';
import { listMcpTools } from './tools/list-tools.ts';

interface Method {
  run: (context: McpContext) => McpAnswer | Promise<McpAnswer>;
  /** How long a client may keep the result. */
  ttlMs?: number;
  /** The era that has it, if not both. */
  era?: 'modern' | 'earlier';
  /** Whether its client must have the extension for tasks. */
  isOfTasks?: true;
}

const MINUTE_MS = 60_000;

const METHODS: Readonly<Record<string, Method>> = {
  'server/discover': { run: discover, ttlMs: MINUTE_MS, era: 'modern' },
  initialize: { run: initialize, era: 'earlier' },
  ping: { run: () => ({}), era: 'earlier' },
  'tools/list': { run: listMcpTools, ttlMs: MINUTE_MS },
  'tools/call': { run: runTool },
  'resources/list': { run: listResources, ttlMs: 0 },
  'resources/templates/list': { run: listResourceTemplates, ttlMs: MINUTE_MS },
  'resources/read': { run: readResource, ttlMs: 0 },
  'prompts/list': { run: listPrompts, ttlMs: MINUTE_MS },
  'prompts/get': { run: getPrompt },
  'completion/complete': { run: complete },
  'subscriptions/listen': { run: listen, era: 'modern' },
  'tasks/get': { run: getMcpTask, era: 'modern', isOfTasks: true },
  'tasks/update': { run: updateMcpTask, era: 'modern', isOfTasks: true },
  'tasks/cancel': { run: cancelMcpTask, era: 'modern', isOfTasks: true },
};

export const METHOD_NAMES: readonly string[] = Object.keys(METHODS);

/** What a request is answered with. */
export const runMethod = async (context: McpContext): Promise<McpAnswer> => {
  const { call } = context;
  const isNew = isModern(call);
  const method = Object.hasOwn(METHODS, call.method) ? METHODS[call.method] : undefined;
  if (!method || (method.era && method.era !== (isNew ? 'modern' : 'earlier'))) {
    throw new RpcError(RPC_CODES.methodNotFound, `There is no method ${call.method} in MCP ${call.version}.`);
  }
  if (method.isOfTasks && !call.canFollowTasks) {
    throw new RpcError(RPC_CODES.missingCapability, `${call.method} needs the extension ${TASKS_EXTENSION}.`, {
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    });
  }
  const answer = await method.run(context);
  if (!isNew) return answer;
  const complete = (result: JsonObject): JsonObject => ({
    resultType: 'complete',
    ...result,
    // What one agent may see is not for another's cache.
    ...(method.ttlMs !== undefined && { ttlMs: method.ttlMs, cacheScope: 'private' }),
  });
  return isStreamed(answer) ? completeStream(answer, complete) : complete(answer);
};

async function* completeStream(
  stream: AsyncGenerator<JsonObject, JsonObject>,
  complete: (result: JsonObject) => JsonObject,
): AsyncGenerator<JsonObject, JsonObject> {
  return complete(yield* stream);
}
