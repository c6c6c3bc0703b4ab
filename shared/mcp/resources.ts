import type { JsonObject } from '../kernel/json/json.ts';
import { ApiProblem, toPathStep } from './api.ts';
import type { McpContext } from './context.ts';
import { invalidParamsError } from './rpc-error.ts';
import { buildTaskUri } from './tools/content.ts';

const JSON_TYPE = 'application/json';
const NEWEST_TASKS = 50;

export const listResources = async ({ api }: McpContext): Promise<JsonObject> => {
  const { tasks } = await api.call('GET', '/v1/tasks', { query: { limit: NEWEST_TASKS } });
  const newest = (tasks as JsonObject[]).map(({ id, type, state }) => ({
    uri: buildTaskUri(String(id)),
    name: String(id),
    title: `${type}: ${state}`,
    mimeType: JSON_TYPE,
  }));
  return {
    resources: [
      { uri: 'parley://inbox', name: 'inbox', title: 'Messages that wait for this agent', mimeType: JSON_TYPE },
      { uri: 'parley://dead-letters', name: 'dead-letters', title: 'Tasks that failed for good', mimeType: JSON_TYPE },
      ...newest,
    ],
  };
};

const TEMPLATES = [
  ['parley://tasks/{id}', 'task', 'A task with its result and timeline'],
  ['parley://tasks/{id}/artifacts/{name}', 'artifact', 'What an agent made for a task'],
  ['parley://agents/{id}', 'agent', 'An agent with its capabilities and health'],
  ['parley://graphs/{id}', 'graph', 'A graph of tasks'],
] as const;

export const listResourceTemplates = (): JsonObject => ({
  resourceTemplates: TEMPLATES.map(([uriTemplate, name, title]) => ({ uriTemplate, name, title })),
});

export const readResource = async (context: McpContext): Promise<JsonObject> => {
  const { uri } = context.call.params;
  if (typeof uri !== 'string') throw invalidParamsError('uri must be a string.');
  try {
    return { contents: [{ uri, ...(await loadResource(context, uri)) }] };
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status >= 500) throw error;
    throw invalidParamsError(error.status === 404 ? `There is no resource ${uri}.` : error.message, { uri });
  }
};

const loadResource = async ({ api }: McpContext, uri: string): Promise<JsonObject> => {
  const [, kind = '', ...rest] = /^parley:\/\/([a-z-]+)(?:\/([^/?#]+))?(?:\/artifacts\/([^/?#]+))?$/.exec(uri) ?? [];
  const [id, name] = rest.map((step) => step && decodeStep(step));
  if (kind === 'tasks' && id && name) return loadArtifact({ api }, id, name);
  const path = toPath(kind, id);
  if (path === undefined || name) throw invalidParamsError(`There is no resource ${uri}.`, { uri });
  return { mimeType: JSON_TYPE, text: JSON.stringify(await api.call('GET', path)) };
};

const toPath = (kind: string, id: string | undefined): string | undefined => {
  if (id === undefined) {
    if (kind === 'inbox') return '/v1/inbox?claim=false';
    return kind === 'dead-letters' ? '/v1/dead-letters' : undefined;
  }
  return ['tasks', 'agents', 'graphs'].includes(kind) ? `/v1/${kind}/${toPathStep(id)}` : undefined;
};

const decodeStep = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};

const TEXT_TYPE = /^(?:text\/|application\/(?:[a-z.+-]+\+)?(?:json|xml)\b)/;

const loadArtifact = async ({ api }: Pick<McpContext, 'api'>, id: string, name: string): Promise<JsonObject> => {
  const { type, bytes } = await api.download(`/v1/tasks/${toPathStep(id)}/artifacts/${toPathStep(name)}`);
  const content = Buffer.from(bytes);
  return TEXT_TYPE.test(type)
    ? { mimeType: type, text: content.toString() }
    : { mimeType: type, blob: content.toString('base64') };
};
