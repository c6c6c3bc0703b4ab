import { isServedOverNats, listDomains } from '../../config/config.ts';
import { ParleyError, STATUS_BY_CODE } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { toIso } from '../../kernel/json/iso-time.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';
import type { StreamSpec, SubscriptionSpec } from '../../nats/relay-plan.ts';
import type { NatsBinding } from '../nats-binding.ts';

const ROOT = 'roundtable';
const DAY_SECONDS = 86_400;
const MIB = 1024 * 1024;

const TASKS: StreamSpec = {
  name: 'ROUNDTABLE_TASKS',
  subjects: [`${ROOT}.tasks.>`],
  retention: 'workqueue',
  storage: 'file',
  maxAgeSeconds: DAY_SECONDS,
  maxMessageBytes: MIB,
};
const RESULTS: StreamSpec = {
  name: 'ROUNDTABLE_RESULTS',
  subjects: [`${ROOT}.results.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 7 * DAY_SECONDS,
  maxMessageBytes: 4 * MIB,
};
const EVENTS: StreamSpec = {
  name: 'ROUNDTABLE_EVENTS',
  subjects: [`${ROOT}.events.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 30 * DAY_SECONDS,
  maxMessageBytes: MIB,
};
const HEARTBEAT: StreamSpec = {
  name: 'ROUNDTABLE_HEARTBEAT',
  subjects: [`${ROOT}.heartbeat.>`],
  retention: 'limits',
  storage: 'memory',
  maxAgeSeconds: 3600,
  maxPerSubject: 5,
};

const BROADCAST: StreamSpec = {
  name: 'ROUNDTABLE_BROADCAST',
  subjects: [`${ROOT}.broadcast.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 7 * DAY_SECONDS,
  maxMessageBytes: MIB,
};

/** Round Table as its document has it on NATS: topics for tasks, results, events, heartbeats and broadcasts. */
export const roundTableNatsBinding: NatsBinding = {
  streams: [TASKS, RESULTS, EVENTS, HEARTBEAT, BROADCAST],
  loadAsyncApiChannels: async () => (await import('./asyncapi-channels.ts')).roundTableChannels,
  hasDomainSubjects: true,
  // A workqueue has one consumer for each subject, and those of on-prem domains belong to the knights.
  listSources: (project, config) => [
    ...listDomains(config, project)
      .filter((domain) => !isServedOverNats(config, project, domain))
      .map((domain) => buildSubscriptionSpec(TASKS, `parley-${project}-tasks-${domain}`, `${ROOT}.tasks.${domain}.>`)),
    buildSubscriptionSpec(RESULTS, `parley-${project}-results`, `${ROOT}.results.>`),
    buildSubscriptionSpec(EVENTS, `parley-${project}-claimed`, `${ROOT}.events.task.claimed`),
    buildSubscriptionSpec(EVENTS, `parley-${project}-progress`, `${ROOT}.events.task.progress`),
    buildSubscriptionSpec(HEARTBEAT, `parley-${project}-heartbeat`, `${ROOT}.heartbeat.>`),
    buildSubscriptionSpec(BROADCAST, `parley-${project}-broadcast`, `${ROOT}.broadcast.>`),
  ],
  matchesSubject: (subject) => subject.startsWith(`${ROOT}.`),
  toNats: (message, { project, config, domain, isPartialAudience }) => {
    const subject = isPartialAudience
      ? buildBroadcastSubject(message)
      : buildMessageSubject(message, domain, isServedOverNats(config, project, domain));
    return subject === undefined ? undefined : { subject, payload: message };
  },
  fromNats: ({ subject }, message) => {
    assertSubjectMatches(subject, message);
    return message;
  },
  isUnrelated: async ({ subject }, message, { code }, { project, config, hasTask }) => {
    const [, kind, domain = ''] = subject.split('.');
    if (kind === 'heartbeat') return code === 'unknown_agent';
    const isServedOverHttp =
      listDomains(config, project).includes(domain) && !isServedOverNats(config, project, domain);
    if (kind !== 'events' && (kind !== 'results' || isServedOverHttp)) return false;
    const { correlationId = kind === 'results' ? subject.split('.').at(-1) : undefined } = message;
    return typeof correlationId === 'string' && !(await hasTask(correlationId));
  },
  buildRejectionNotice: (message, refusal, now) => {
    const { id, from, correlationId: taskId } = message;
    // Whoever lost a task learns it; a message that is wrong in itself is kept where somebody looks after it.
    const isLost = STATUS_BY_CODE[refusal.code] === 409 || refusal.code === 'not_eligible';
    if (!isLost || typeof taskId !== 'string' || typeof from !== 'string') return undefined;
    const payload = { code: refusal.code, message: refusal.message, holder: refusal.details.holder };
    const rejection = {
      id: uuidFromSeed(['rejected', String(id)]),
      type: 'task.claim-rejected',
      correlationId: taskId,
    };
    const addressed = buildSystemMessage({ ...rejection, to: from, payload }, now);
    return { subject: `${ROOT}.events.task.claim-rejected`, payload: addressed, id: rejection.id };
  },
  buildPresenceMessage: (agent, isOnline, at) => {
    const type = isOnline ? 'knight-online' : 'knight-offline';
    const id = uuidFromSeed(['presence', agent, type, at]);
    const payload = buildSystemMessage({ id, type: `system.${type}`, payload: { agent } }, at);
    return { subject: `${ROOT}.events.system.${type}`, payload };
  },
};

const buildSubscriptionSpec = ({ name }: StreamSpec, durable: string, filter: string): SubscriptionSpec => ({
  stream: name,
  durable,
  filter,
});

const buildSystemMessage = (message: JsonObject, at: number): JsonObject => ({
  version: '1.0',
  from: SYSTEM_SENDER,
  timestamp: toIso(at),
  ...message,
});

const buildMessageSubject = (
  message: JsonObject,
  domain: string | undefined,
  isServedOnPrem: boolean,
): string | undefined => {
  switch (message.type) {
    case 'task.request':
      return isServedOnPrem ? `${ROOT}.tasks.${getPayloadTask(message)}` : undefined;
    case 'task.claimed':
    case 'task.progress':
      return `${ROOT}.events.${message.type}`;
    case 'task.result':
    case 'task.failed':
      return domain === undefined ? undefined : `${ROOT}.results.${domain}.${message.correlationId}`;
    default:
      return undefined;
  }
};

const buildBroadcastSubject = ({ type }: JsonObject): string | undefined =>
  typeof type === 'string' && type.startsWith('broadcast.') ? `${ROOT}.${type}` : undefined;

const getPayloadTask = ({ payload }: JsonObject): Json | undefined => (isObject(payload) ? payload.task : undefined);

/** The topic of a request is its task, that of a result ends with the task's id or the first eight digits of it. */
const assertSubjectMatches = (subject: string, message: JsonObject): void => {
  const [, kind, ...rest] = subject.split('.');
  if (kind === 'tasks' && getPayloadTask(message) !== rest.join('.')) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with the payload's task.`);
  }
  const id = rest.at(-1)?.toLowerCase() ?? '';
  const about = String(message.correlationId).toLowerCase();
  if (kind === 'results' && id !== about && !(id.length === SHORT_ID_LENGTH && about.startsWith(id))) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with the correlationId.`);
  }
  if (kind === 'broadcast' && message.type !== `broadcast.${rest.join('.')}`) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with the type of the message.`);
  }
  if (kind === 'heartbeat' && rest.join('.') !== message.from) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with whom the heartbeat is from.`);
  }
};

const SHORT_ID_LENGTH = 8;
