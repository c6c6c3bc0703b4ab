import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { hasRelay, listDomains } from '../config/project-settings.ts';
import {
  CALLED_DIALECT_NAMES,
  DIALECT_NAMES,
  getAgentDialect,
  getDialect,
  PROFILE_NAMES,
} from '../dialects/registry.ts';
import {
  AGENT_ID,
  type AgentSecret,
  agentRef,
  agentSecretRef,
  agentsKey,
  type DeclaredCapabilities,
  healthRef,
  INBOX_MODES,
  listUnscopedCapabilities,
  type RemovedAgent,
  removedRef,
} from '../identity/agents/agent.ts';
import { COORDINATOR_ROLE } from '../identity/agents/agent-control.ts';
import { buildOfferWrites } from '../identity/agents/capability-offers.ts';
import { buildProviderWrites, cleanUpProviders } from '../identity/agents/domain-providers.ts';
import { buildApiKey, DEFAULT_KEY } from '../identity/auth/api-key.ts';
import { generateKey, hashKey } from '../identity/auth/keys.ts';
import { isPrivateKey, parsePublicKey } from '../identity/auth/public-keys.ts';
import { getChannels } from '../identity/channels.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { CHANNEL_ID, SYSTEM_SENDER } from '../kernel/ids.ts';
import { boundedArray, boundedRecord } from '../kernel/json/bounded-schemas.ts';
import { assertMaxSize } from '../kernel/json/json.ts';
import { jsonObject } from '../kernel/json/parse-or-throw.ts';
import { assertReadableSchema } from '../kernel/json/schema-checker.ts';
import { DAY_MS } from '../kernel/retention.ts';
import { agentCallerRef, agentCallSecretRef, buildAgentCaller } from '../model/agent-call.ts';
import { toIso } from '../ports/clock.ts';
import { type Change, equals, notExists } from '../ports/conditions.ts';
import { getDomain } from '../ports/queues.ts';
import type { TransactionWrite } from '../ports/records.ts';
import { listApiKeys } from './manage-keys.ts';

const name = z.string().min(1).max(128);

const text = z.string().min(1).max(2000);
const label = z.string().min(1).max(256);
const webAddress = z.url({ protocol: /^https?$/ }).max(2048);
const mediaTypes = boundedArray(label, { min: 1, max: 64 }).optional();

const SkillFields = z.strictObject({
  name: label.optional(),
  description: text.optional(),
  tags: boundedArray(label, { max: 32 }).optional(),
  examples: boundedArray(text, { max: 16 }).optional(),
  inputModes: mediaTypes,
  outputModes: mediaTypes,
});

const AgentCardFields = z.strictObject({
  name: label.optional().describe('by default the id of the agent'),
  description: text.optional(),
  version: label.optional(),
  documentationUrl: webAddress.optional(),
  iconUrl: webAddress.optional(),
  provider: z.strictObject({ organization: label, url: webAddress }).optional(),
  inputModes: mediaTypes.describe('media types that the agent takes. By default it takes any'),
  outputModes: mediaTypes.describe('media types that the agent gives'),
  skills: boundedRecord(name, SkillFields, { max: 256 }).optional().describe('by capability'),
});

export const Registration = z.strictObject({
  dialect: z.enum(DIALECT_NAMES).describe('the protocol of the agent'),
  profile: z
    .enum(PROFILE_NAMES)
    .optional()
    .describe('the existing software as which the agent speaks its dialect. By default as the document says'),
  capabilities: boundedArray(name, { max: 256 })
    .default([])
    .describe('capabilities such as `security.briefing`. `security.*` declares the whole domain'),
  schemas: boundedRecord(name, z.strictObject({ input: jsonObject.optional(), output: jsonObject.optional() }), {
    max: 256,
  })
    .optional()
    .describe('JSON Schemas by capability: what its tasks bring as `input`, and what the agent gives as `output`'),
  domains: boundedArray(name, { max: 64 }).optional().describe('the domains that the agent serves completely'),
  transport: z
    .enum(['http', 'nats', ...CALLED_DIALECT_NAMES])
    .default('http')
    .describe('how it is reached. With the name of its dialect, Parley calls it at its `url`'),
  url: webAddress.optional().describe('the address of its agent card, or above it, if Parley calls the agent'),
  authorization: z
    .string()
    .max(4096)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
    .optional()
    .describe(
      'the `Authorization` with which Parley calls the agent. It is never shown. Without it the old one stays; an empty one removes it',
    ),
  versions: boundedArray(name, { max: 16 }).optional().describe('the protocol versions that the agent supports'),
  publicKey: z.string().max(4096).optional().describe('the key for signatures, as PEM or as base64 of DER'),
  encryptionKey: z
    .string()
    .max(4096)
    .refine((key) => !isPrivateKey(key), 'must be a public key, not a private one')
    .optional()
    .describe('the public key for content that only this agent is to read, in any form. It is shown to all agents'),
  hmacSecret: z
    .string()
    .max(512)
    .refine((secret) => secret === '' || secret.length >= 16, 'must be at least 16 characters long, or empty')
    .optional()
    .describe(
      'the secret for HMAC-SHA256 signatures, instead of a public key. It is never shown. Without it the old one stays; an empty one removes it',
    ),
  signing: z
    .enum(['off', 'warn', 'enforce'])
    .optional()
    .describe('whether unsigned messages are accepted, logged or rejected'),
  limits: z
    .looseObject({ messagesPerMinute: z.number().int().min(1).optional() })
    .optional()
    .describe('limits of the agent. Other fields are stored and returned'),
  role: z.enum([COORDINATOR_ROLE]).optional().describe('a coordinator may send control commands and broadcasts'),
  inbox: z
    .enum(INBOX_MODES)
    .optional()
    .describe(
      'what reaches the inbox: `all`, also claims, progress, failed attempts, heartbeats, and tasks for the agent; `ends`, only how tasks end, questions and direct messages; or `progress`, these and progress. By default as its dialect has it',
    ),
  inboxLimit: z.number().int().min(1).max(1000).optional().describe('the limit of a bounded inbox'),
  overflow: z
    .enum(['evict', 'refuse'])
    .optional()
    .describe('whether a full inbox evicts the oldest message or rejects new ones'),
  manifest: jsonObject.optional().describe('any further data, stored and returned'),
  agentCard: AgentCardFields.optional().describe('what the agent card says beside the registration'),
  channels: boundedArray(z.string().regex(CHANNEL_ID, 'must be public, u_<user> or t_<thread>'), { min: 1, max: 64 })
    .optional()
    .describe('the channels that the agent may use. By default `public`'),
  workerTarget: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 of A-Z, a-z, 0-9, _ and -')
    .optional()
    .describe('the workers that run its turns, to whom wake-ups go. `ui_worker` accepts actions of a user interface'),
});
export type Registration = z.output<typeof Registration>;

/** What a registration may be read back as. */
export const ShownRegistration = Registration.omit({ hmacSecret: true, authorization: true });

/** Nobody may pass for Parley or for an administrator. */
const RESERVED_IDS = [SYSTEM_SENDER, 'admin'];

interface RegisterResult {
  /** Only for a new agent, and only now. */
  key?: string;
}

/** `inherit` where an agent of this name was removed and the new one is the same, and is to have what was the old one's. */
export const registerAgent = async (
  deps: Deps,
  project: string,
  id: string,
  asked: Registration,
  { inherit = false }: { inherit?: boolean } = {},
): Promise<RegisterResult> => {
  const { hmacSecret, authorization, ...shown } = asked;
  const wanted = { inboxLimit: getAgentDialect(asked).getInboxLimit?.(deps.config), ...shown };
  if (!AGENT_ID.test(id))
    throw new ParleyError('invalid_request', `"${id}" is no agent id: 1 to 64 of a-z, 0-9, _ and -.`);
  if (RESERVED_IDS.includes(id))
    throw new ParleyError('invalid_request', `"${id}" is the name by which Parley itself speaks or acts.`);
  assertKnownDomains(deps, project, wanted);
  const secret = await deps.records.get(agentSecretRef(project, id));
  assertReadablePublicKey(wanted, (hmacSecret ?? secret?.secret ?? '') !== '');
  await assertReadableSchemas(wanted);
  assertGroupQueueLimit(wanted);
  assertCallable(deps, wanted);
  if (wanted.transport === 'nats' && !hasRelay(deps.config, project)) {
    throw new ParleyError(
      'invalid_request',
      `The project ${project} has no relay, so that "transport": "nats" reaches nobody.`,
    );
  }
  assertMaxSize('The registration', wanted, deps.config.limits.extensionBytes);
  const key = generateKey(project, id);
  const [agent, health, removed] = [agentRef(project, id), healthRef(project, id), removedRef(project, id)];
  const now = deps.clock.now();
  const fields = { registeredAt: now, byList: { pk: agentsKey(project), sk: id } };
  const apiKey = buildApiKey({
    project,
    name: DEFAULT_KEY,
    agent: id,
    scope: 'agent',
    keyHash: hashKey(key),
    createdAt: now,
  });
  // Both or none: a registration that failed half-way would answer its repetition without the key.
  const made = await deps.records.transact(
    assertTransactionSize([
      { kind: 'create', item: { ...agent, project, id, ...wanted, ...fields } },
      { kind: 'create', item: { ...health, project, agent: id, online: false } },
      { kind: 'remove', key: removed, if: inherit ? undefined : notExists('removedAt') },
      { kind: 'create', item: { ...apiKey } },
      ...buildOfferWrites(project, id, [], wanted.capabilities),
      ...(await buildProviderWrites(deps, project, NO_DECLARATION, wanted)),
      ...buildSecretWrites(project, id, secret, hmacSecret),
    ]),
    deps.newId(),
  );
  if (made.outcome === 'refused' && made.at === TOMBSTONE_WRITE_INDEX)
    throw agentRemovedError(id, await deps.records.get(removed));
  const isChanged =
    made.outcome === 'written' ||
    (await replaceRegistration(deps, project, id, wanted, buildSecretWrites(project, id, secret, hmacSecret)));
  if (made.outcome === 'written') await cleanUpProviders(deps, project, NO_DECLARATION, wanted);
  deps.directory.invalidate(project, id);
  if (isChanged) await putCaller(deps, project, id, wanted, authorization);
  if (!isChanged) throw agentChangedError(id);
  return made.outcome === 'written' ? { key } : {};
};

/** Which of the writes of a registration says that the name was that of an agent which was removed. */
const TOMBSTONE_WRITE_INDEX = 2;

const agentRemovedError = (id: string, removed: RemovedAgent | undefined): ParleyError =>
  new ParleyError(
    'agent_removed',
    `An agent ${id} was removed, and what was sent to it is still kept. Where the new one is the same agent, PUT /v1/agents/${id}?inherit=true gives it the inbox, tasks and turns of the old one; otherwise choose another name.`,
    { details: { removedAt: toIso(removed?.removedAt), freeAt: toIso(removed?.expires) } },
  );

/** The longest that a task waits before it ends, and what is known of it begins to be forgotten. */
const MAX_TTL_MS = 7 * DAY_MS;

/** As long as anything is kept that names an agent. */
export const computeTombstoneMs = ({ tasks, turns, events, cards }: Config): number =>
  Math.max(MAX_TTL_MS + tasks.retentionMs, MAX_TTL_MS + turns.retentionMs, events.retentionMs, cards.retentionMs);

/** As many writes as a transaction of DynamoDB takes. */
const MAX_TRANSACTION_WRITES = 100;

const assertTransactionSize = (writes: TransactionWrite[]): TransactionWrite[] => {
  if (writes.length <= MAX_TRANSACTION_WRITES) return writes;
  throw new ParleyError(
    'too_large',
    'The capabilities without a domain and the domains that change are too many to be registered at once.',
    { details: { limit: MAX_TRANSACTION_WRITES } },
  );
};

/** What an agent declares that is not registered. */
const NO_DECLARATION: DeclaredCapabilities = { capabilities: [] };

const agentChangedError = (id: string): ParleyError =>
  new ParleyError('conflict', `The agent ${id} was changed or removed meanwhile. Try again.`);

/** Written only if nobody wrote in between: what the agent offers is told by how its registration was. */
const replaceRegistration = async (
  deps: Deps,
  project: string,
  id: string,
  wanted: Registration,
  secretWrites: TransactionWrite[],
): Promise<boolean> => {
  const key = agentRef(project, id);
  const before = await deps.records.get(key);
  if (!before) return false;
  const offers = buildOfferWrites(project, id, before.capabilities, wanted.capabilities);
  const served = await buildProviderWrites(deps, project, before, wanted);
  const change = { ...buildReplacement(wanted), if: equals('v', before.v) };
  const writes = assertTransactionSize([{ kind: 'update', key, change }, ...offers, ...served, ...secretWrites]);
  const written = await deps.records.transact(writes, deps.newId());
  if (written.outcome !== 'written') return false;
  await cleanUpProviders(deps, project, before, wanted);
  return true;
};

const buildSecretWrites = (
  project: string,
  id: string,
  before: AgentSecret | undefined,
  secret: string | undefined,
): TransactionWrite[] => {
  if (secret === undefined || secret === (before?.secret ?? '')) return [];
  const key = agentSecretRef(project, id);
  if (secret === '') return [{ kind: 'remove', key }];
  return before
    ? [{ kind: 'update', key, change: { set: { secret } } }]
    : [{ kind: 'create', item: { ...key, secret } }];
};

/** The whole registration is replaced: what is no longer said is gone. */
const buildReplacement = (wanted: Registration): Change => ({
  set: wanted,
  unset: ShownRegistration.keyof().options.filter((field) => wanted[field] === undefined),
});

const isCalled = ({ transport }: Registration): boolean => CALLED_DIALECT_NAMES.includes(transport);

const assertCallable = ({ httpSender }: Deps, wanted: Registration): void => {
  const { transport, dialect, url } = wanted;
  if (isCalled(wanted) !== (url !== undefined)) {
    throw new ParleyError('invalid_request', `An agent has a url if and only if Parley calls it.`, {
      issues: [
        { path: 'url', message: url === undefined ? `is required with the transport ${transport}` : 'must be absent' },
      ],
    });
  }
  if (url === undefined) return;
  if (transport !== dialect) {
    throw new ParleyError('invalid_request', `An agent with the transport ${transport} speaks ${transport}.`, {
      issues: [{ path: 'dialect', message: `must be ${transport}` }],
    });
  }
  httpSender.assertAllowed(url);
};

/** Idempotent: a registration that failed here is made again. */
const putCaller = async (
  { records, clock, newId }: Deps,
  project: string,
  id: string,
  wanted: Registration,
  authorization: string | undefined,
): Promise<void> => {
  if (authorization !== undefined) {
    const ref = agentCallSecretRef(project, id);
    if (authorization === '') await records.delete({ pk: ref.pk, sk: ref.sk });
    else await records.update(ref, { set: { authorization } }, newId(), 'orCreate');
  }
  if (!isCalled(wanted)) return;
  const { pk: _pk, sk: _sk, ...set } = buildAgentCaller(project, id, clock.now());
  await records.update(agentCallerRef(project, id), { set }, newId(), 'orCreate');
};

const assertReadablePublicKey = ({ publicKey = '', signing = 'off' }: Registration, hasSecret: boolean): void => {
  if (publicKey !== '' && isPrivateKey(publicKey)) {
    throw new ParleyError(
      'invalid_request',
      'publicKey is a private key, which every agent would be shown. Send its public half, and make a new pair: this one was on the wire.',
      { issues: [{ path: 'publicKey', message: 'must be a public key' }] },
    );
  }
  // What cannot be read may be a private key in some other coat; a line of OpenSSH says what it is.
  if (
    parsePublicKey(publicKey) ||
    (publicKey === '' && hasSecret) ||
    (signing === 'off' && /^$|^(ssh|ecdsa|sk)-/.test(publicKey))
  )
    return;
  throw new ParleyError(
    'invalid_request',
    'An agent that signs needs a publicKey, in PEM or in base64 as DER, or an hmacSecret.',
    {
      issues: [{ path: 'publicKey', message: 'must be a public key' }],
    },
  );
};

const assertReadableSchemas = async ({ dialect, schemas = {} }: Registration): Promise<void> => {
  if (Object.keys(schemas).length > 0 && getDialect(dialect).usesTurns) {
    throw new ParleyError('invalid_request', `Turns of ${dialect} are not held against schemas.`, {
      issues: [{ path: 'schemas', message: 'must be absent' }],
    });
  }
  for (const [capability, sides] of Object.entries(schemas)) {
    for (const side of ['input', 'output'] as const)
      await assertReadableSchema(sides[side], `schemas.${capability}.${side}`, 'invalid_request');
  }
};

/** A lease looks at each of them. That is one group on all the channels that an agent can have, or 64 groups on one. */
const MAX_GROUP_QUEUES = 64;

const assertGroupQueueLimit = ({ dialect, capabilities, channels }: Registration): void => {
  if (!getDialect(dialect).usesTurns) return;
  const [groups, on] = [listUnscopedCapabilities(capabilities).length, getChannels({ channels }).length];
  if (groups * on <= MAX_GROUP_QUEUES) return;
  throw new ParleyError(
    'too_large',
    `An agent of ${dialect} can have ${MAX_GROUP_QUEUES} queues of groups, one for each capability without a domain on each channel, not ${groups} × ${on}. Share them out among several agents.`,
    { details: { limit: MAX_GROUP_QUEUES } },
  );
};

const assertKnownDomains = (deps: Deps, project: string, wanted: Registration): void => {
  const known = listDomains(deps.config, project);
  const named = wanted.domains ?? wanted.capabilities.map(getDomain).filter((domain) => domain !== undefined);
  // A dialect's own kinds of messages, such as `agent-os.query`, look as if it were a domain.
  const unknown = [...new Set(named)].filter((domain) => ![...known, ...DIALECT_NAMES].includes(domain));
  if (unknown.length === 0) return;
  throw new ParleyError('unknown_domain', `No such domain: ${unknown.join(', ')}. Known: ${known.join(', ')}.`, {
    details: { known },
  });
};

export const deregisterAgent = async (deps: Deps, project: string, id: string): Promise<void> => {
  const agent = AGENT_ID.test(id) ? await deps.records.get(agentRef(project, id)) : undefined;
  if (!agent) {
    throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  }
  const now = deps.clock.now();
  const keys = await listApiKeys(deps, project, id);
  // As with a change: what it offers is told by how its registration was.
  const gone = await deps.records.transact(
    [
      { kind: 'remove', key: agentRef(project, id), if: equals('v', agent.v) },
      { kind: 'remove', key: healthRef(project, id) },
      { kind: 'remove', key: agentSecretRef(project, id) },
      ...keys.map(({ pk, sk }) => ({ kind: 'remove' as const, key: { pk, sk } })),
      {
        kind: 'create',
        item: { ...removedRef(project, id), removedAt: now, expires: now + computeTombstoneMs(deps.config) },
      },
      ...buildOfferWrites(project, id, agent.capabilities, []),
      ...(await buildProviderWrites(deps, project, agent, NO_DECLARATION)),
    ],
    deps.newId(),
  );
  if (gone.outcome !== 'written') {
    deps.directory.invalidate(project, id);
    throw agentChangedError(id);
  }
  deps.directory.revokeKeys(project, id, 'all');
  await cleanUpProviders(deps, project, agent, NO_DECLARATION);
};
