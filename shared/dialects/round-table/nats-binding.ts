import { isServedOverNats, listDomains } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import type { StreamSpec, SubscriptionSpec } from '../../nats/relay-plan.ts';
import type { NatsBinding } from '../nats-binding.ts';
import { buildRejectionNotice } from './rejection-notices.ts';
import { buildSystemMessage, SUBJECT_ROOT } from './system-message.ts';

const DAY_SECONDS = 86_400;
const MIB = 1024 * 1024;

const TASKS: StreamSpec = {
  name: 'ROUNDTABLE_TASKS',
  subjects: [`${SUBJECT_ROOT}.tasks.>`],
  retention: 'workqueue',
  storage: 'file',
  maxAgeSeconds: DAY_SECONDS,
  maxMessageBytes: MIB,
};
const RESULTS: StreamSpec = {
  name: 'ROUNDTABLE_RESULTS',
  subjects: [`${SUBJECT_ROOT}.results.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 7 * DAY_SECONDS,
  maxMessageBytes: 4 * MIB,
};
const EVENTS: StreamSpec = {
  name: 'ROUNDTABLE_EVENTS',
  subjects: [`${SUBJECT_ROOT}.events.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 30 * DAY_SECONDS,
  maxMessageBytes: MIB,
};
const HEARTBEAT: StreamSpec = {
  name: 'ROUNDTABLE_HEARTBEAT',
  subjects: [`${SUBJECT_ROOT}.heartbeat.>`],
  retention: 'limits',
  storage: 'memory',
  maxAgeSeconds: 3600,
  maxPerSubject: 5,
};

const BROADCAST: StreamSpec = {
  name: 'ROUNDTABLE_BROADCAST',
  subjects: [`${SUBJECT_ROOT}.broadcast.>`],
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
      .map((domain) =>
        buildSubscriptionSpec(TASKS, `parley-${project}-tasks-${domain}`, `${SUBJECT_ROOT}.tasks.${domain}.>`),
      ),
    buildSubscriptionSpec(RESULTS, `parley-${project}-results`, `${SUBJECT_ROOT}.results.>`),
    buildSubscriptionSpec(EVENTS, `parley-${project}-claimed`, `${SUBJECT_ROOT}.events.task.claimed`),
    buildSubscriptionSpec(EVENTS, `parley-${project}-progress`, `${SUBJECT_ROOT}.events.task.progress`),
    buildSubscriptionSpec(HEARTBEAT, `parley-${project}-heartbeat`, `${SUBJECT_ROOT}.heartbeat.>`),
    buildSubscriptionSpec(BROADCAST, `parley-${project}-broadcast`, `${SUBJECT_ROOT}.broadcast.>`),
  ],
  listUnreadSources: (config) => {
    const domains = Object.values(config.projects).flatMap((project) => Object.keys(project.domains));
    const except = domains.map((domain) => `${SUBJECT_ROOT}.tasks.${domain}.>`);
    return [{ stream: TASKS.name, filter: `${SUBJECT_ROOT}.tasks.>`, except }];
  },
  matchesSubject: (subject) => subject.startsWith(`${SUBJECT_ROOT}.`),
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
  buildRejectionNotice,
  buildPresenceMessage: (agent, isOnline, at) => {
    const type = isOnline ? 'knight-online' : 'knight-offline';
    const id = uuidFromSeed(['presence', agent, type, at]);
    const payload = buildSystemMessage({ id, type: `system.${type}`, payload: { agent } }, at);
    return { subject: `${SUBJECT_ROOT}.events.system.${type}`, payload };
  },
};

const buildSubscriptionSpec = ({ name }: StreamSpec, durable: string, filter: string): SubscriptionSpec => ({
  stream: name,
  durable,
  filter,
});

const buildMessageSubject = (
  message: JsonObject,
  domain: string | undefined,
  isServedOnPrem: boolean,
): string | undefined => {
  switch (message.type) {
    case 'task.request':
      return isServedOnPrem ? `${SUBJECT_ROOT}.tasks.${getPayloadTask(message)}` : undefined;
    case 'task.claimed':
    case 'task.progress':
      return `${SUBJECT_ROOT}.events.${message.type}`;
    case 'task.result':
    case 'task.failed':
      return domain === undefined ? undefined : `${SUBJECT_ROOT}.results.${domain}.${message.correlationId}`;
    default:
      return undefined;
  }
};

const buildBroadcastSubject = ({ type }: JsonObject): string | undefined =>
  typeof type === 'string' && type.startsWith('broadcast.') ? `${SUBJECT_ROOT}.${type}` : undefined;

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
