import { buildAgentCard, buildCatalog, buildGatewayCard, GATEWAY } from '../../../adapters/a2a/agent-card.ts';
import { signCard } from '../../../adapters/a2a/sign-card.ts';
import { type Agent, agentsKey } from '../../../identity/agents/agent.ts';
import { authenticate, findAgent } from '../../../identity/auth/authenticate.ts';
import type { Deps } from '../../../identity/deps.ts';
import { ParleyError } from '../../../kernel/errors.ts';
import { computeFingerprint } from '../../../kernel/json/fingerprint.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import type { HttpRequest } from '../../http-message.ts';
import type { RouteResponse } from '../../route.ts';
import { agentNotFoundError } from './errors.ts';

/** So many of a project are in its card and its catalog. */
const MAX_LISTED_AGENTS = 100;

const listAgents = ({ records }: Deps, project: string): Promise<Agent[]> =>
  records.query<Agent>({ index: 'byList', pk: agentsKey(project), limit: MAX_LISTED_AGENTS });

export const getAddress = ({ config }: Deps, { headers }: HttpRequest): string => {
  const { address } = config.dialects.a2a;
  const host = headers['x-forwarded-host'] ?? headers.host ?? 'localhost';
  const scheme = headers['x-forwarded-proto']?.split(',')[0]?.trim() ?? 'http';
  return (address ?? `${scheme}://${host}`).replace(/\/+$/, '');
};

/** Of the project of the key, or without one of the project whose cards are for all. */
const resolveProject = async (deps: Deps, { headers }: HttpRequest): Promise<{ project: string; hasKey: boolean }> => {
  const { publicProject } = deps.config.dialects.a2a;
  if (headers.authorization === undefined && publicProject !== undefined)
    return { project: publicProject, hasKey: false };
  const { project, role } = await authenticate(deps, headers.authorization);
  if (role === 'relay') throw new ParleyError('forbidden', 'The key of the relay is not for this call.');
  return { project, hasKey: true };
};

export const loadCard = async (
  deps: Deps,
  project: string,
  address: string,
  agent: Agent | undefined,
  isExtended: boolean,
): Promise<JsonObject> => {
  if (agent) return buildAgentCard(agent, address, isExtended);
  const agents = isExtended ? await listAgents(deps, project) : undefined;
  const capabilities = agents && [...new Set(agents.flatMap((one) => one.capabilities))].sort();
  return buildGatewayCard(address, deps.config.projects[project]?.domains ?? {}, capabilities);
};

/** Without a look at any task. */
export const answerCard = async (deps: Deps, request: HttpRequest, name: string): Promise<RouteResponse> => {
  const { project, hasKey } = await resolveProject(deps, request);
  const found = name === GATEWAY ? undefined : await findAgent(deps, project, name);
  if (name !== GATEWAY && !found) throw agentNotFoundError(name);
  const address = getAddress(deps, request);
  const card = await loadCard(deps, project, address, found?.agent, false);
  const cached = toCacheable(request, card, hasKey, found?.agent.at);
  // A client may name any host: only the configured address is vouched for. Signed, the same card differs each time.
  const isVouched = deps.config.dialects.a2a.address !== undefined;
  return cached.body && isVouched ? { ...cached, body: await signCard(deps, address, card) } : cached;
};

export const answerCatalog = async (deps: Deps, request: HttpRequest): Promise<RouteResponse> => {
  const { project, hasKey } = await resolveProject(deps, request);
  const agents = await listAgents(deps, project);
  return toCacheable(request, buildCatalog(getAddress(deps, request), agents), hasKey);
};

const CACHE_SECONDS = 60;

const toCacheable = (
  { headers }: HttpRequest,
  body: JsonObject,
  isPrivate: boolean,
  changedAt?: number,
): RouteResponse => {
  const etag = `"${computeFingerprint(body)}"`;
  const caching = {
    etag,
    'cache-control': `${isPrivate ? 'private' : 'public'}, max-age=${CACHE_SECONDS}`,
    vary: 'Authorization, Host, X-Forwarded-Host, X-Forwarded-Proto',
    ...(changedAt !== undefined && { 'last-modified': new Date(changedAt).toUTCString() }),
  };
  if (headers['if-none-match']?.split(',').some((tag) => tag.trim() === etag)) return { status: 304, headers: caching };
  return { status: 200, body, headers: caching };
};
