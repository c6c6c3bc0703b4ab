import type { InboxMode } from '../identity/agents/agent.ts';
import { ParleyError } from '../kernel/errors.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { omitNulls } from '../kernel/json/omit-nulls.ts';
import { a2aDialect } from './a2a/a2a.ts';
import { agentOsDialect } from './agent-os/agent-os.ts';
import { commonGroundDialect } from './common-ground/common-ground.ts';
import type { Dialect } from './dialect.ts';
import { messageRoutingDialect } from './message-routing/message-routing.ts';
import { nativeDialect } from './native/native.ts';
import { roundTableDialect } from './round-table/round-table.ts';
import { taskFormatDialect } from './task-format/task-format.ts';

/** The dialect that Parley itself speaks, in which everything that Parley knows can be said. */
export const OWN_DIALECT = nativeDialect.name;

/** Every dialect, in the order in which a message is tried against them. */
export const DIALECTS: readonly Dialect[] = [
  commonGroundDialect,
  messageRoutingDialect,
  roundTableDialect,
  agentOsDialect,
  nativeDialect,
  a2aDialect,
  taskFormatDialect,
];

/** Each dialect in each of its profiles. */
export const PROFILED_DIALECTS: readonly Dialect[] = DIALECTS.flatMap(({ profiles = {}, ...dialect }) =>
  Object.entries(profiles).map(([profile, own]) => ({ ...dialect, ...own, profile })),
);

export const DIALECT_NAMES = DIALECTS.map(({ name }) => name);

/** Dialects as transports: Parley calls their agents. */
export const CALLED_DIALECT_NAMES = DIALECTS.flatMap(({ name, callsAgents }) => (callsAgents ? [name] : []));

export const PROFILE_NAMES = [...new Set(PROFILED_DIALECTS.flatMap(({ profile }) => profile ?? []))];

const DIALECTS_BY_NAME = new Map(DIALECTS.map((dialect) => [dialect.name, dialect]));

export const findDialect = (name: string): Dialect | undefined => DIALECTS_BY_NAME.get(name);

export const getDialect = (name: string): Dialect => {
  const dialect = findDialect(name);
  if (dialect) return dialect;
  throw new ParleyError('unknown_dialect', `There is no dialect "${name}". Known: ${DIALECT_NAMES.join(', ')}.`, {
    details: { known: DIALECT_NAMES },
  });
};

/** What an agent reads and writes. */
export interface Speaker {
  dialect: string;
  profile?: string | undefined;
}

export const getAgentDialect = ({ dialect, profile }: Speaker): Dialect => {
  if (profile === undefined) return getDialect(dialect);
  const profiled = PROFILED_DIALECTS.find((one) => one.name === dialect && one.profile === profile);
  if (profiled) return profiled;
  const known = Object.keys(getDialect(dialect).profiles ?? {});
  throw new ParleyError('invalid_request', `The dialect ${dialect} has no profile "${profile}".`, {
    details: { known },
    issues: [{ path: 'profile', message: known.length > 0 ? `must be one of ${known.join(', ')}` : 'must be absent' }],
  });
};

/** Whether all that is sent to the agent reaches its inbox: progress and heartbeats too, and what it is asked to do. */
export const readsAllInInbox = (agent: InboxReader): boolean => getInboxMode(agent) === 'all';

export const getInboxMode = (agent: InboxReader): InboxMode => agent.inbox ?? getAgentDialect(agent).inbox ?? 'ends';

interface InboxReader extends Speaker {
  inbox?: InboxMode | undefined;
}

/** In the profile of its sender, where that has one: the dialect that is named, or the one whose shape the message has. */
export const resolveDialect = (message: JsonObject, named: string | undefined, sender?: Speaker): Dialect => {
  if (sender?.profile === undefined || (named !== undefined && named !== sender.dialect)) {
    return resolvePlainDialect(message, named, sender);
  }
  const own = getAgentDialect(sender);
  if (named !== undefined || own.isRecognized(message)) return own;
  const plain = resolvePlainDialect(message, named, sender);
  return plain.name === own.name ? own : plain;
};

const resolvePlainDialect = (message: JsonObject, named: string | undefined, sender: Speaker | undefined): Dialect => {
  if (named !== undefined) return getDialect(named);
  return recognizeDialect(Object.values(message).includes(null) ? omitNulls(message) : message, sender);
};

const recognizeDialect = (message: JsonObject, sender: Speaker | undefined): Dialect => {
  const recognised =
    DIALECTS.find((candidate) => candidate.isRecognized(message)) ??
    DIALECTS.find(
      (candidate) =>
        candidate.isRecognizedWithExtraFields?.(message) &&
        (candidate.name === sender?.dialect || !hasFieldsOfOthers(candidate, message)),
    );
  if (recognised && (!recognised.types || hasKnownType(recognised, message))) return recognised;
  const nearest = findNearestDialect(message);
  // What has another dialect's type, and lacks what that one is known by, is to learn just that.
  if (recognised) return nearest && hasKnownType(nearest, message) ? nearest : recognised;
  const lacks = nearest ? `What it lacks of the nearest, ${nearest.name}, is listed.` : 'See /schemas/<dialect>.json.';
  throw new ParleyError(
    'unknown_dialect',
    `The message has the shape of no dialect. Known: ${DIALECT_NAMES.join(', ')}. ${lacks}`,
    { details: { known: DIALECT_NAMES, nearest: nearest?.name ?? null }, issues: nearest?.validate(message) },
  );
};

/** A message that has what another dialect is known by is one of that, with mistakes. */
const hasFieldsOfOthers = ({ name, fieldNames }: Dialect, message: JsonObject): boolean => {
  const extra = Object.keys(message).filter((key) => !fieldNames.includes(key));
  return DIALECTS.some(
    (other) =>
      other.name !== name && (hasKnownType(other, message) || extra.some((key) => other.fieldNames.includes(key))),
  );
};

const hasKnownType = ({ types }: Dialect, { type }: JsonObject): boolean =>
  types?.some((known) => known === type) ?? false;

/** The one that knows most of the message's keys and its type, and of several such the one that finds least wrong with it. */
const findNearestDialect = (message: JsonObject): Dialect | undefined => {
  const keys = Object.keys(message);
  const knownTo = (dialect: Dialect): number =>
    keys.filter((key) => dialect.fieldNames.includes(key)).length + Number(hasKnownType(dialect, message));
  const most = Math.max(...DIALECTS.map(knownTo));
  if (most === 0) return undefined;
  const wrongTo = (dialect: Dialect): number => dialect.validate(message).length;
  return DIALECTS.filter((dialect) => knownTo(dialect) === most).toSorted((a, b) => wrongTo(a) - wrongTo(b))[0];
};

/** What an agent reads: its own dialect, unless the call names another. */
export const getReaderDialect = ({ agent }: { agent: Speaker }, named: string | undefined): Dialect =>
  named === undefined || named === agent.dialect ? getAgentDialect(agent) : getDialect(named);
