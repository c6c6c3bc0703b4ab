import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { ADMIN_KEY, type ApiKey, computeKeyEnd, RELAY_KEY } from '../../identity/auth/api-key.ts';
import { assertScope, type Caller, describeCaller } from '../../identity/auth/authenticate.ts';
import { AGENT_KEY_SCOPES, KEY_SCOPES, type KeyScope, listIncludedScopes } from '../../identity/auth/scopes.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { toIso } from '../../ports/clock.ts';
import { createApiKey, deleteApiKey, listApiKeys, rotateApiKey } from '../../registration/manage-keys.ts';
import { defineKeyRoute, defineRoute, type Route } from '../route.ts';

const MAX_OVERLAP_DAYS = 30;

const keyName = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 of a-z, 0-9, _ and -');
const agentField = z.string().regex(AGENT_ID, 'must be an agent id').optional();
const ScopeView = z.enum([...KEY_SCOPES, 'relay']);

const KeyView = z
  .object({
    name: z.string(),
    agent: z.string().optional().describe('absent for the keys of operators and relays'),
    scope: ScopeView,
    createdAt: z.iso.datetime().optional().describe('absent for keys that are set where Parley is started'),
    rotatedAt: z.iso.datetime().optional(),
    expiresAt: z.iso.datetime().optional(),
    lastUsedAt: z.iso.datetime().optional().describe('up to 10 minutes old'),
    previousKeys: z
      .array(z.object({ expiresAt: z.iso.datetime() }))
      .optional()
      .describe('keys from before a rotation that are still valid'),
  })
  .meta({ id: 'Key' });

const CreatedKeyView = z
  .object({
    ...KeyView.shape,
    key: z.string().describe('shown once. Parley stores only its hash'),
  })
  .meta({ id: 'NewKey' });

const toKeyView = ({ clock }: Deps, key: ApiKey): z.output<typeof KeyView> => {
  const { name, agent, scope, createdAt, rotatedAt, expires, lastUsedAt } = key;
  const previous = (key.previous ?? []).filter(({ until }) => until > clock.now());
  return {
    name,
    agent,
    scope,
    createdAt: toIso(createdAt),
    rotatedAt: toIso(rotatedAt),
    expiresAt: toIso(expires),
    lastUsedAt: toIso(lastUsedAt),
    previousKeys: previous.length === 0 ? undefined : previous.map(({ until }) => ({ expiresAt: toIso(until) })),
  };
};

/** An agent has its own keys only; operators name the agent. */
const resolveKeyAgent = (caller: Caller, named: string | undefined): string | undefined => {
  if (caller.role === 'admin') return named;
  const { id } = caller.registered.agent;
  if (named === undefined || named === id) return id;
  throw new ParleyError('from_mismatch', `The key belongs to ${id}, not to ${named}.`);
};

/** Its file, its variable or its function would set it again. */
const assertNotAdminKey = (name: string, agent: string | undefined): void => {
  if (agent !== undefined || name !== ADMIN_KEY) return;
  throw new ParleyError(
    'invalid_request',
    'The key "admin" is set where Parley is started: by PARLEY_ADMIN_KEY, its file, or the function admin-key.',
  );
};

const assertScopeFits = (scope: KeyScope, agent: string | undefined): void => {
  if (agent === undefined || AGENT_KEY_SCOPES.some((fitting) => fitting === scope)) return;
  throw new ParleyError('invalid_request', `A key of an agent has the scope ${AGENT_KEY_SCOPES.join(' or ')}.`, {
    issues: [{ path: 'scope', message: `must be ${AGENT_KEY_SCOPES.join(' or ')}` }],
  });
};

const notFound = { 404: { description: 'No such key, or no such agent' } };

export const keyRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/keys',
    operationId: 'listKeys',
    summary: 'List the keys of operators and relays, or those of an agent. An agent sees its own',
    query: z.strictObject({ agent: agentField }),
    responses: { 200: { description: 'The keys by name', schema: z.object({ keys: z.array(KeyView) }) } },
    handle: async ({ deps, caller, query }) => {
      const keys = await listApiKeys(deps, caller.project, resolveKeyAgent(caller, query.agent));
      return { status: 200, body: { keys: keys.map((key) => toKeyView(deps, key)) } };
    },
  }),
  defineKeyRoute({
    method: 'POST',
    path: '/v1/keys',
    operationId: 'createKey',
    summary: 'Create a key for an operator, or one more for an agent',
    unrepeatable: 'its answer is a secret, which is not kept.',
    access: 'admin',
    body: z.strictObject({
      name: keyName.refine((name) => name !== ADMIN_KEY && name !== RELAY_KEY, 'is the name of a key of Parley'),
      agent: agentField.describe('the agent that the key is for'),
      scope: z
        .enum(KEY_SCOPES)
        .describe(
          '`read`: GET. `operate`: also cancel, retry, release, answer and pause. `agent`: also all that agents do. `admin`: everything. A key of an agent has `agent` or `read`, for itself',
        ),
      expiresAt: z.iso.datetime().optional().describe('when the key stops working'),
    }),
    responses: {
      201: { description: 'Created', schema: CreatedKeyView },
      404: { description: 'No such agent' },
      409: { description: '`key_exists`: the name is in use' },
    },
    handle: async ({ deps, caller, body: { name, agent, scope, expiresAt } }) => {
      assertScopeFits(scope, agent);
      const expires = expiresAt === undefined ? undefined : Date.parse(expiresAt);
      if (expires !== undefined && expires <= deps.clock.now()) {
        throw new ParleyError('invalid_request', 'A key cannot have expired before it is made.', {
          issues: [{ path: 'expiresAt', message: 'must be in the future' }],
        });
      }
      const { apiKey, key } = await createApiKey(deps, caller.project, { name, agent, scope, expires });
      return { status: 201, body: { ...toKeyView(deps, apiKey), key } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/keys/{name}/rotate',
    operationId: 'rotateKey',
    summary: 'Replace a key. An agent may replace its own',
    unrepeatable: 'its answer is a secret, which is not kept.',
    body: z
      .strictObject({
        agent: agentField,
        overlapSeconds: z
          .number()
          .int()
          .min(0)
          .max(MAX_OVERLAP_DAYS * 86_400)
          .optional()
          .describe('how long the earlier key stays valid. By default not at all'),
      })
      .optional(),
    responses: { 200: { description: 'The new key', schema: CreatedKeyView }, ...notFound },
    handle: async ({ deps, caller, params: { name = '' }, body: { agent: named, overlapSeconds = 0 } = {} }) => {
      const agent = resolveKeyAgent(caller, named);
      if (caller.role === 'admin') assertScope(caller, 'admin');
      assertNotAdminKey(name, agent);
      const { apiKey, key } = await rotateApiKey(deps, caller.project, { agent, name }, overlapSeconds * 1000);
      return { status: 200, body: { ...toKeyView(deps, apiKey), key } };
    },
  }),
  defineKeyRoute({
    method: 'DELETE',
    path: '/v1/keys/{name}',
    operationId: 'removeKey',
    summary: 'Remove a key, which stops working',
    access: 'admin',
    query: z.strictObject({ agent: agentField }),
    responses: { 204: { description: 'Removed' }, ...notFound },
    handle: async ({ deps, caller, params: { name = '' }, query: { agent } }) => {
      assertNotAdminKey(name, agent);
      await deleteApiKey(deps, caller.project, name, agent);
      return { status: 204 };
    },
  }),
];

const CallerView = z
  .object({
    project: z.string(),
    role: z.enum(['agent', 'operator', 'relay']),
    name: z.string().describe('the name of the key'),
    agent: z.string().optional().describe('the agent that the key belongs to'),
    scope: ScopeView,
    scopes: z.array(ScopeView).describe('the scope and those that it includes'),
    expiresAt: z.iso.datetime().optional().describe('when this key stops working'),
    isRotated: z.boolean().describe('whether there is a newer key, so that this one ends soon'),
  })
  .meta({ id: 'Whoami' });

export const whoamiRoutes: Route[] = [
  defineKeyRoute({
    method: 'GET',
    path: '/v1/whoami',
    operationId: 'getWhoami',
    summary: 'Tell whose key this is, and what it may do',
    access: 'any-key',
    responses: { 200: { description: 'The key', schema: CallerView } },
    handle: async ({ caller }) => {
      const { key, project, role } = caller;
      if (!key) throw new Error(`${describeCaller(caller)} has no key`);
      const { apiKey, keyHash } = key;
      const { name, scope } = apiKey;
      const end = computeKeyEnd([apiKey], keyHash);
      const view: z.output<typeof CallerView> = {
        project,
        role: role === 'admin' ? 'operator' : role,
        name,
        agent: apiKey.agent,
        scope,
        scopes: scope === 'relay' ? [scope] : listIncludedScopes(scope),
        expiresAt: Number.isFinite(end) ? toIso(end) : undefined,
        isRotated: apiKey.keyHash !== keyHash,
      };
      return { status: 200, body: view };
    },
  }),
];
