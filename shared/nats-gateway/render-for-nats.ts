import type { Dialect } from '../dialects/dialect.ts';
import { getEncoder } from '../dialects/encoder-registry.ts';
import type { NatsContext } from '../dialects/nats-binding.ts';
import { DIALECTS, getAgentDialect, getDialect } from '../dialects/registry.ts';
import type { Agent } from '../identity/agents/agent.ts';
import type { Deps } from '../identity/deps.ts';
import { uuidFromSeed } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { pickTraceFields, type Trace } from '../kernel/trace.ts';
import { isExpired } from '../messaging/direct-messages/direct-message-changes.ts';
import { encodeBatchFor, encodeMessageFor, encodeOutcomeFor } from '../messaging/inbox/encode-for-reader.ts';
import { batchRef } from '../model/batch.ts';
import { broadcastRef } from '../model/broadcast.ts';
import type { TaskOutcome } from '../model/delivery.ts';
import { directMessageRef } from '../model/direct-message.ts';
import { type ReportedTask, type Task, TERMINAL_STATUSES, taskRef } from '../model/task.ts';
import { formatInboxSubject, type NatsMessage } from '../nats/nats-message.ts';
import type { Presence, RelayItem } from '../nats/relay-item.ts';
import type { RenderedItem } from '../nats/render-result.ts';
import { encodeRequestFor } from '../tasks/commands/encode-for-agent.ts';
import { putAlias } from '../tasks/ids/aliases.ts';
import { resolveRecipient } from './resolve-recipient.ts';

type RenderedMessage = Omit<NatsMessage, 'id'> | { skip: string };

/** Puts what waits for the relay into the words of whoever it is for, on the subject where that one listens. */
export const renderForNats = async (
  deps: Deps,
  project: string,
  item: RelayItem,
  { id, isTooLarge = false }: { id: string; isTooLarge?: boolean | undefined },
): Promise<RenderedItem> => {
  const said = await renderItemByKind(deps, project, item, isTooLarge);
  return 'skip' in said ? said : { publish: { ...said, id } };
};

/** What a message holds itself where it was too large before: with its artifacts that is still less than any server allows by default. */
const REDUCED_CONTENT_BYTES = 64 * 1024;

const limitContent = (dialect: Dialect, isTooLarge: boolean): Dialect =>
  isTooLarge
    ? {
        ...dialect,
        maxContentBytes: Math.min(REDUCED_CONTENT_BYTES, dialect.maxContentBytes ?? REDUCED_CONTENT_BYTES),
        getMaxMessageBytes: undefined,
      }
    : dialect;

const renderItemByKind = (
  deps: Deps,
  project: string,
  item: RelayItem,
  isTooLarge: boolean,
): Promise<RenderedMessage> => {
  switch (item.kind) {
    case 'request':
      return renderRequest(deps, project, item, isTooLarge);
    case 'report':
      return renderReport(deps, { ...item.task, project });
    case 'outcome':
      return renderOutcome(deps, project, { ...item.outcome, task: { ...item.outcome.task, project } }, isTooLarge);
    case 'directMessage':
      return renderDirectMessage(deps, project, item, isTooLarge);
    case 'batch':
      return renderBatchEnd(deps, project, item.batchId, isTooLarge);
    case 'broadcast':
      return renderBroadcast(deps, project, item.broadcastId);
    case 'presence':
      return renderPresence(deps, project, item);
  }
};

const renderRequest = async (
  deps: Deps,
  project: string,
  { taskId, queueGeneration, requeueCount }: Extract<RelayItem, { kind: 'request' }>,
  isTooLarge: boolean,
): Promise<RenderedMessage> => {
  const task = await deps.records.get(taskRef(project, taskId));
  if (task?.status !== 'requested' || task.queueGeneration !== queueGeneration)
    return { skip: 'it is no longer requested' };
  if (task.deadline <= deps.clock.now()) return { skip: 'it has expired' };
  const resent = requeueCount ?? task.requeueCount;
  const reader = await resolveRecipient(deps, task, resent);
  if (reader === 'heard') return { skip: 'it was said on NATS' };
  if (!reader && task.routingCapability !== undefined) return { skip: 'nobody on NATS is left who can do it' };
  const dialect = reader ? getAgentDialect(reader) : await findDomainDialect(deps, task);
  if (!dialect) return { skip: 'no dialect has subjects for domains' };
  const isOnSubject = !reader && resent > 0 && dialect.natsBinding?.getPublishedState?.(task.extensions);
  if (isOnSubject) return { skip: 'it was said on NATS' };
  const id = toWireTaskId(task, dialect);
  if (id !== task.id) await putAlias(deps, project, id, task.id);
  const message = await encodeRequestFor(deps, task, limitContent(dialect, isTooLarge), reader?.id, id);
  const said = addressMessage(deps, task, dialect, message, reader?.id);
  return 'skip' in said ? said : { ...said, headers: { ...buildContextHeaders(task, dialect), ...said.headers } };
};

const BELONGINGS = ['conversation', 'user', 'graph'] as const;

/** What the task belongs to, as a claim over HTTP has it beside the message. */
const buildContextHeaders = (task: Task, { natsBinding }: Dialect): Record<string, string> =>
  Object.fromEntries(
    BELONGINGS.filter((name) => !natsBinding?.says?.includes(name)).flatMap((name) => {
      const value = task[name];
      const header = `Parley-${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      return value === undefined ? [] : [[header, toPrintableAscii(value)]];
    }),
  );

/** Whoever decodes percent signs has the value as it was. Readers of headers leave out blanks at both ends. */
const toPrintableAscii = (value: string): string =>
  value.toWellFormed().replace(/[^ -~]+|%|^ +| +$/g, encodeURIComponent);

/** Agents on NATS take an id that they have seen for a repetition: each further attempt goes out under an id of its own. */
const toWireTaskId = ({ id, queueGeneration }: Task, { toAliasId }: Dialect): string =>
  queueGeneration > 1 ? uuidFromSeed(['attempt', id, queueGeneration]) : (toAliasId?.(id) ?? id);

/** In the profile of those who serve the domain, where they have one: what it adds disturbs nobody else. */
const findDomainDialect = async (deps: Deps, { project, domain }: Task): Promise<Dialect | undefined> => {
  const dialect = DIALECTS.find(({ natsBinding }) => natsBinding?.hasDomainSubjects);
  if (!dialect?.profiles || domain === undefined) return dialect;
  const { byProfile = {} } = (await deps.directory.getDomainProviders(project, domain)) ?? {};
  const profile = Object.keys(dialect.profiles).find((name) => (byProfile[name] ?? 0) > 0);
  return getAgentDialect({ dialect: dialect.name, profile });
};

const renderReport = async (deps: Deps, task: ReportedTask): Promise<RenderedMessage> => {
  if (await isAlreadyOnNats(deps, task.project, task.holder, task.from)) return { skip: 'it was said on NATS' };
  const reader = await findAgentDialect(deps, task.project, task.from);
  const role = reader?.natsBinding?.getTurnRole?.(task.extensions);
  if (role === 'call') return { skip: 'a tool call has no state' };
  if (role === 'turn') return { skip: 'its turn tells its states' };
  return renderForRecipient(deps, task, task.from, async (dialect) => getEncoder(dialect).encodeReport(task));
};

const renderOutcome = async (
  deps: Deps,
  project: string,
  outcome: TaskOutcome,
  isTooLarge: boolean,
): Promise<RenderedMessage> => {
  const { from, to, task } = outcome;
  if (await isAlreadyOnNats(deps, project, from, to)) return { skip: 'it was said on NATS' };
  if (await isReportedByTurn(deps, outcome)) return { skip: 'its turn tells it' };
  return renderForRecipient(deps, task, to, (dialect) =>
    encodeOutcomeFor(deps, project, outcome, limitContent(dialect, isTooLarge)),
  );
};

const renderDirectMessage = async (
  deps: Deps,
  project: string,
  { from, messageId }: Extract<RelayItem, { kind: 'directMessage' }>,
  isTooLarge: boolean,
): Promise<RenderedMessage> => {
  const directMessage = await deps.records.get(directMessageRef(project, from, messageId));
  if (!directMessage) return { skip: 'it is no longer kept' };
  if (isExpired(directMessage, deps.clock.now())) return { skip: 'its time to live is over' };
  const topic = {
    ...directMessage,
    domain: undefined,
    isPartialAudience: directMessage.deliveryTarget === 'natsPartialAudience',
  };
  return renderForRecipient(deps, topic, directMessage.to, (dialect) =>
    encodeMessageFor(deps, directMessage, limitContent(dialect, isTooLarge)),
  );
};

/**
 * A reader of turns is told once how each ended: by the turn itself, where the task is a part of one or was worked on as one. What an
 * agent of another dialect asks while it works on a turn is a state of that turn.
 */
const isReportedByTurn = async (deps: Deps, { to, status, task }: TaskOutcome): Promise<boolean> => {
  const { project, holder, extensions } = task;
  const [reader, worker] = await Promise.all([
    findAgentDialect(deps, project, to),
    findAgentDialect(deps, project, holder),
  ]);
  if (!reader?.usesTurns) return false;
  const role = reader.natsBinding?.getTurnRole?.(extensions);
  if (role === 'turn') return true;
  return TERMINAL_STATUSES.some((end) => end === status) && (role !== undefined || worker?.usesTurns === true);
};

const findAgentDialect = async (deps: Deps, project: string, id: string | undefined): Promise<Dialect | undefined> => {
  const known = id === undefined ? undefined : await deps.directory.getAgent(project, id);
  return known && getAgentDialect(known.agent);
};

/** What one agent on NATS said on the subjects of its dialect, all others of that dialect have heard there. */
const isAlreadyOnNats = async (deps: Deps, project: string, speaker: string | undefined, listener: string) => {
  const [said, heard] = await Promise.all([
    findNatsAgent(deps, project, speaker),
    findNatsAgent(deps, project, listener),
  ]);
  if (said === undefined || said.dialect !== heard?.dialect || said.profile !== heard.profile) return false;
  return getAgentDialect(said).natsBinding !== undefined;
};

const findNatsAgent = async (deps: Deps, project: string, id: string | undefined): Promise<Agent | undefined> => {
  const known = id === undefined ? undefined : await deps.directory.getAgent(project, id);
  return known?.agent.transport === 'nats' ? known.agent : undefined;
};

/** What a message is about. */
type MessageTopic = Trace & Pick<Task, 'project' | 'domain'> & Pick<NatsContext, 'isPartialAudience'>;

const renderForRecipient = async (
  deps: Deps,
  topic: MessageTopic,
  to: string,
  encode: (dialect: Dialect) => Promise<JsonObject>,
): Promise<RenderedMessage> => {
  const reader = await deps.directory.getAgent(topic.project, to);
  if (!reader) return { skip: `no agent ${to} is registered` };
  const dialect = getAgentDialect(reader.agent);
  return addressMessage(deps, topic, dialect, await encode(dialect), to);
};

const addressMessage = (
  { config }: Deps,
  topic: MessageTopic,
  dialect: Dialect,
  message: JsonObject,
  to: string | undefined,
): RenderedMessage => {
  const { project, domain, isPartialAudience } = topic;
  const own = dialect.natsBinding?.toNats(message, { project, config, domain, isPartialAudience });
  if (!own && to === undefined) return { skip: 'nobody on NATS serves it' };
  const { headers, ...rest } = own ?? { subject: formatInboxSubject(project, to ?? ''), payload: message };
  return { headers: { ...buildTraceHeaders(topic), ...headers }, ...rest };
};

const buildTraceHeaders = ({ traceparent, tracestate, baggage }: Trace): Record<string, string> => ({
  traceparent,
  ...(tracestate !== undefined && { tracestate }),
  ...(baggage !== undefined && { baggage }),
});

const renderBatchEnd = async (
  deps: Deps,
  project: string,
  batchId: string,
  isTooLarge: boolean,
): Promise<RenderedMessage> => {
  const batch = await deps.records.get(batchRef(project, batchId));
  if (!batch) return { skip: 'it is no longer kept' };
  const topic = { ...batch, domain: undefined };
  return renderForRecipient(deps, topic, batch.from, (dialect) =>
    encodeBatchFor(deps, batch, limitContent(dialect, isTooLarge)),
  );
};

const renderBroadcast = async (deps: Deps, project: string, broadcastId: string): Promise<RenderedMessage> => {
  const broadcast = await deps.records.get(broadcastRef(project, broadcastId));
  if (!broadcast) return { skip: 'it is no longer kept' };
  const { command, isAlreadyPublished, createdAt } = broadcast;
  const dialect = getDialect(broadcast.dialect);
  const message =
    command.kind === 'directMessage' ? getEncoder(dialect).encodeBroadcast?.(command, createdAt) : undefined;
  if (!message) return { skip: 'each that it is for has it in its inbox' };
  if (isAlreadyPublished) return { skip: 'it was said on NATS' };
  return addressMessage(
    deps,
    { project, ...pickTraceFields(broadcast), isPartialAudience: true },
    dialect,
    message,
    undefined,
  );
};

const renderPresence = async (
  deps: Deps,
  project: string,
  { agent, isOnline, at }: Presence,
): Promise<RenderedMessage> => {
  const registered = await deps.directory.getAgent(project, agent);
  const dialect = registered && getAgentDialect(registered.agent);
  const site = { project, config: deps.config };
  return (
    dialect?.natsBinding?.buildPresenceMessage?.(agent, isOnline, at, site) ?? { skip: 'nobody on NATS is told of it' }
  );
};
