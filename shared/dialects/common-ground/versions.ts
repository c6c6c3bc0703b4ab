import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { type CommonGroundHeaders, findHeader } from './headers.ts';
import { COMMON_GROUND } from './name.ts';
import { COMMON_GROUND_VERSION, parseSubject, type Subject } from './subject.ts';

/** Messages of this version say in headers alone whose they are. In all others the payload says it. */
export const HEADER_IDENTITY_VERSION = 'v1r4';

/** In which an agent speaks whose registration names it. */
export const PROFILE_VERSIONS: readonly string[] = [COMMON_GROUND_VERSION, HEADER_IDENTITY_VERSION];

export const listSpokenVersions = ({ dialects }: Config): string[] => [
  ...new Set([...PROFILE_VERSIONS, dialects[COMMON_GROUND].version]),
];

export const hasHeaderIdentity = ({ version }: Pick<Subject, 'version'>): boolean =>
  version === HEADER_IDENTITY_VERSION;

export const resolveTurnVersion = ({ dialects }: Config, said: string | undefined, profile?: string): string =>
  said ?? PROFILE_VERSIONS.find((known) => known === profile) ?? dialects[COMMON_GROUND].version;

/** The subject, which must be of a version that is spoken here: nothing is known of what others mean. */
export const parseSpokenSubject = (text: string, config: Config): Subject => {
  const subject = parseSubject(text);
  const spoken = listSpokenVersions(config);
  if (spoken.includes(subject.version)) return subject;
  const { version } = subject;
  throw new ParleyError(
    'unsupported_version',
    `Version ${version} of CommonGround is not spoken here, but ${spoken.join(', ')}.`,
    { details: { version, supported: spoken } },
  );
};

const IDENTITY_HEADERS = {
  project_id: 'CG-Project-Id',
  channel_id: 'CG-Channel-Id',
  agent_id: 'CG-Agent-Id',
  agent_turn_id: 'CG-Turn-Id',
  turn_epoch: 'CG-Turn-Epoch',
  step_id: 'CG-Step-Id',
  tool_call_id: 'CG-Tool-Call-Id',
  parent_agent_id: 'CG-Parent-Agent-Id',
  parent_agent_turn_id: 'CG-Parent-Turn-Id',
  parent_step_id: 'CG-Parent-Step-Id',
} as const;

const ENVELOPE_FIELDS = ['project_id', 'channel_id', 'agent_id', 'agent_turn_id', 'turn_epoch'] as const;

/** A command with one of these in its payload is rejected by every reader of the version. */
const CONTROL_FIELDS = new Map<string, string>([
  ...Object.entries(IDENTITY_HEADERS),
  ['channel', IDENTITY_HEADERS.channel_id],
  ['recursion_depth', 'CG-Recursion-Depth'],
  ...['trace_id', 'traceparent', 'tracestate', 'parent_traceparent'].map((field): [string, string] => [
    field,
    'traceparent',
  ]),
]);

/** What the headers of a command say of whose it is, as its payload says it in other versions. */
export const readHeaderIdentity = (subject: Subject, headers: CommonGroundHeaders, payload: JsonObject): JsonObject => {
  assertNoControlFields(payload);
  assertAgrees(headers, 'project_id', subject.project);
  assertAgrees(headers, 'channel_id', subject.channel);
  const isForAgent = subject.component === 'agent' && subject.suffix !== 'wakeup';
  if (isForAgent) assertAgrees(headers, 'agent_id', subject.target);
  const said = Object.entries(IDENTITY_HEADERS).flatMap(([field, header]): [string, Json][] => {
    const value = findHeader(headers, header.toLowerCase());
    if (value === undefined || value === '') return [];
    return [[field, field === 'turn_epoch' ? parseEpoch(value) : String(value)]];
  });
  return { ...Object.fromEntries(said), ...(isForAgent && { agent_id: subject.target }) };
};

/** Anything else is refused as an epoch, under its own name. */
const parseEpoch = (value: unknown): Json => (/^\d{1,15}$/.test(String(value)) ? Number(value) : String(value));

const assertNoControlFields = (payload: JsonObject): void => {
  const found = Object.keys(payload).filter((key) => CONTROL_FIELDS.has(key));
  if (found.length === 0) return;
  throw new ParleyError(
    'protocol_violation',
    `The payload of a command of ${HEADER_IDENTITY_VERSION} must not have ${found.join(', ')}: headers say it.`,
    {
      details: { violated: 'payload' },
      issues: found.map((key) => ({
        path: `payload.${key}`,
        message: `must not be there: the header ${CONTROL_FIELDS.get(key)} says it`,
      })),
    },
  );
};

const assertAgrees = (headers: CommonGroundHeaders, field: keyof typeof IDENTITY_HEADERS, expected: string): void => {
  const name = IDENTITY_HEADERS[field];
  const said = findHeader(headers, name.toLowerCase());
  if (said === undefined || said === '' || said === expected) return;
  throw new ParleyError(
    'protocol_violation',
    `${name} is ${String(said).slice(0, 64)}, but the subject says ${expected}.`,
    {
      details: { violated: name },
      issues: [{ path: `headers.${name}`, message: `must be ${expected}, as in the subject` }],
    },
  );
};

/** What is wrong with the identity of a command stands in its headers. */
export const toHeaderIssues = (error: unknown): unknown => {
  if (!(error instanceof ParleyError)) return error;
  const { code, message, issues, retryable, cause, details } = error;
  const found = issues?.map((issue) => {
    const header = Object.entries(IDENTITY_HEADERS).find(([field]) => issue.path === `payload.${field}`)?.[1];
    return header === undefined ? issue : { ...issue, path: `headers.${header}` };
  });
  return new ParleyError(code, message, { issues: found, retryable, cause, details });
};

/** A message of Parley's own as readers of a version take it. `identity` is what its payload does not say of whose it is. */
export const toVersion = (
  { subject: text, headers, payload, ...rest }: JsonObject,
  version: string | undefined = COMMON_GROUND_VERSION,
  identity: { [field: string]: Json | undefined } = {},
): JsonObject => {
  if (version === COMMON_GROUND_VERSION) return { subject: text, headers, payload, ...rest };
  // Parley built the subject itself. A target that NATS rejects is for the relay to tell.
  const [root, , ...place] = String(text).split('.');
  const [project, channel, category, component, target, suffix] = place;
  const written = { ...toObjectOrEmpty(headers), 'CG-Version': version };
  const message = { ...rest, subject: [root, version, ...place].join('.'), headers: written, payload };
  if (!hasHeaderIdentity({ version })) return message;
  const content = toObjectOrEmpty(payload);
  const known: Record<string, unknown> = {
    ...(component === 'agent' && suffix !== 'wakeup' && { agent_id: target }),
    turn_epoch: 0,
    ...identity,
    ...content,
    project_id: project,
    channel_id: channel,
  };
  // The step and the call stand in the payload of an event, where its readers look for them.
  const own = ENVELOPE_FIELDS.flatMap((field) => {
    const [header, value] = [IDENTITY_HEADERS[field], known[field]];
    return typeof value === 'string' || typeof value === 'number' ? [[header, String(value)]] : [];
  });
  return {
    ...message,
    headers: { ...written, ...Object.fromEntries(own) },
    payload: category === 'cmd' ? omitControlFields(content) : payload,
  };
};

const omitControlFields = (payload: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(payload).filter(([key]) => !CONTROL_FIELDS.has(key)));
