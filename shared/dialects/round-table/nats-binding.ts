import { isServedOverNats, listDomains } from '../../config/project-settings.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import type { StreamSpec, SubscriptionSpec } from '../../nats/relay-plan.ts';
import type { NatsBinding } from '../nats-binding.ts';
import { buildRejectionNotice } from './rejection-notices.ts';
import { buildStreamSpecs, getSubjects } from './streams.ts';
import { buildSystemMessage } from './system-message.ts';

/** Round Table as its document has it on NATS: topics for tasks, results, events, heartbeats and broadcasts. */
export const roundTableNatsBinding: NatsBinding = {
  listStreams: (site) => Object.values(buildStreamSpecs(site)),
  loadAsyncApiChannels: async (config) => (await import('./asyncapi-channels.ts')).describeRoundTable(config),
  hasDomainSubjects: true,
  // A workqueue has one consumer for each subject, and those of on-prem domains belong to the knights.
  listSources: (site) => {
    const { project, config } = site;
    const { prefix } = getSubjects(site);
    const { tasks, results, events, heartbeat, broadcast } = buildStreamSpecs(site);
    const read = ({ name }: StreamSpec, what: string, filter: string): SubscriptionSpec => ({
      stream: name,
      durable: `parley-${project}-${what}`,
      filter: `${prefix}.${filter}`,
    });
    return [
      ...listDomains(config, project)
        .filter((domain) => !isServedOverNats(config, project, domain))
        .map((domain) => read(tasks, `tasks-${domain}`, `tasks.${domain}.>`)),
      read(results, 'results', 'results.>'),
      read(events, 'claimed', 'events.task.claimed'),
      read(events, 'progress', 'events.task.progress'),
      read(heartbeat, 'heartbeat', 'heartbeat.>'),
      read(broadcast, 'broadcast', 'broadcast.>'),
    ];
  },
  listUnreadSources: (site) => {
    const { config } = site;
    const { prefix } = getSubjects(site);
    const sharing = Object.keys(config.projects).filter(
      (project) => getSubjects({ project, config }).prefix === prefix,
    );
    const domains = sharing.flatMap((project) => listDomains(config, project));
    const except = domains.map((domain) => `${prefix}.tasks.${domain}.>`);
    return [{ stream: buildStreamSpecs(site).tasks.name, filter: `${prefix}.tasks.>`, except }];
  },
  matchesSubject: (subject, site) => subject.startsWith(`${getSubjects(site).prefix}.`),
  toNats: (message, about) => {
    const { prefix } = getSubjects(about);
    const subject = about.isPartialAudience
      ? buildBroadcastSubject(message)
      : buildMessageSubject(message, about.domain, isServedOverNats(about.config, about.project, about.domain));
    return subject === undefined ? undefined : { subject: `${prefix}.${subject}`, payload: message };
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
  buildPresenceMessage: (agent, isOnline, at, site) => {
    const type = isOnline ? 'knight-online' : 'knight-offline';
    const id = uuidFromSeed(['presence', agent, type, at]);
    const payload = buildSystemMessage({ id, type: `system.${type}`, payload: { agent } }, at);
    return { subject: `${getSubjects(site).prefix}.events.system.${type}`, payload };
  },
};

/** Without the prefix. */
const buildMessageSubject = (
  message: JsonObject,
  domain: string | undefined,
  isServedOnPrem: boolean,
): string | undefined => {
  switch (message.type) {
    case 'task.request':
      return isServedOnPrem ? `tasks.${getPayloadTask(message)}` : undefined;
    case 'task.claimed':
    case 'task.progress':
      return `events.${message.type}`;
    case 'task.result':
    case 'task.failed':
      return domain === undefined ? undefined : `results.${domain}.${message.correlationId}`;
    default:
      return undefined;
  }
};

const buildBroadcastSubject = ({ type }: JsonObject): string | undefined =>
  typeof type === 'string' && type.startsWith('broadcast.') ? `${type}` : undefined;

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
