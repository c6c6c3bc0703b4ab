import { domainsOf, isOnPrem } from '../../config.ts';
import { CODES, ParleyError } from '../../errors.ts';
import { idFrom } from '../../ids.ts';
import { PARLEY } from '../../inbox/delivery.ts';
import { iso } from '../../json/iso.ts';
import { isObject, type Json, type JsonObject } from '../../json/json.ts';
import type { OnNats } from '../../relay/on-nats.ts';
import type { Source, Stream } from '../../relay/plan.ts';

const ROOT = 'roundtable';
const DAY_SECONDS = 86_400;
const MIB = 1024 * 1024;

const TASKS: Stream = {
  name: 'ROUNDTABLE_TASKS',
  subjects: [`${ROOT}.tasks.>`],
  retention: 'workqueue',
  storage: 'file',
  maxAgeSeconds: DAY_SECONDS,
  maxMessageBytes: MIB,
};
const RESULTS: Stream = {
  name: 'ROUNDTABLE_RESULTS',
  subjects: [`${ROOT}.results.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 7 * DAY_SECONDS,
  maxMessageBytes: 4 * MIB,
};
const EVENTS: Stream = {
  name: 'ROUNDTABLE_EVENTS',
  subjects: [`${ROOT}.events.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 30 * DAY_SECONDS,
  maxMessageBytes: MIB,
};
const HEARTBEAT: Stream = {
  name: 'ROUNDTABLE_HEARTBEAT',
  subjects: [`${ROOT}.heartbeat.>`],
  retention: 'limits',
  storage: 'memory',
  maxAgeSeconds: 3600,
  maxPerSubject: 5,
};

const BROADCAST: Stream = {
  name: 'ROUNDTABLE_BROADCAST',
  subjects: [`${ROOT}.broadcast.>`],
  retention: 'limits',
  storage: 'file',
  maxAgeSeconds: 7 * DAY_SECONDS,
  maxMessageBytes: MIB,
};

/** Round Table as its document has it on NATS: topics for tasks, results, events, heartbeats and broadcasts. */
export const onNats: OnNats = {
  streams: [TASKS, RESULTS, EVENTS, HEARTBEAT, BROADCAST],
  described: async () => (await import('./described.ts')).described,
  namesDomains: true,
  // A workqueue has one consumer for each subject, and those of on-prem domains belong to the knights.
  sources: (project, config) => [
    ...domainsOf(config, project)
      .filter((domain) => !isOnPrem(config, project, domain))
      .map((domain) => source(TASKS, `parley-${project}-tasks-${domain}`, `${ROOT}.tasks.${domain}.>`)),
    source(RESULTS, `parley-${project}-results`, `${ROOT}.results.>`),
    source(EVENTS, `parley-${project}-claimed`, `${ROOT}.events.task.claimed`),
    source(EVENTS, `parley-${project}-progress`, `${ROOT}.events.task.progress`),
    source(HEARTBEAT, `parley-${project}-heartbeat`, `${ROOT}.heartbeat.>`),
    source(BROADCAST, `parley-${project}-broadcast`, `${ROOT}.broadcast.>`),
  ],
  owns: (subject) => subject.startsWith(`${ROOT}.`),
  outgoing: (message, { project, config, domain, isToSome }) => {
    const subject = isToSome
      ? broadcastSubject(message)
      : subjectOf(message, domain, isOnPrem(config, project, domain));
    return subject === undefined ? undefined : { subject, payload: message };
  },
  incoming: ({ subject }, message) => {
    refuseDisagreement(subject, message);
    return message;
  },
  refused: (message, refusal, now) => {
    const { id, from, correlationId: taskId } = message;
    // Whoever lost a task learns it; a message that is wrong in itself is kept where somebody looks after it.
    const isLost = CODES[refusal.code] === 409 || refusal.code === 'not_eligible';
    if (!isLost || typeof taskId !== 'string' || typeof from !== 'string') return undefined;
    const payload = { code: refusal.code, message: refusal.message, holder: refusal.facts.holder };
    const rejection = { id: idFrom(`${id}#rejected`), type: 'task.claim-rejected', correlationId: taskId };
    const addressed = fromParley({ ...rejection, to: from, payload }, now);
    return { subject: `${ROOT}.events.task.claim-rejected`, payload: addressed, id: rejection.id };
  },
  presence: (agent, isOnline, at) => {
    const type = isOnline ? 'knight-online' : 'knight-offline';
    const id = idFrom(`${agent}#${type}#${at}`);
    const payload = fromParley({ id, type: `system.${type}`, payload: { agent } }, at);
    return { subject: `${ROOT}.events.system.${type}`, payload };
  },
};

const source = ({ name }: Stream, durable: string, filter: string): Source => ({ stream: name, durable, filter });

const fromParley = (message: JsonObject, at: number): JsonObject => ({
  version: '1.0',
  from: PARLEY,
  timestamp: iso(at),
  ...message,
});

const subjectOf = (message: JsonObject, domain: string | undefined, isServedOnPrem: boolean): string | undefined => {
  switch (message.type) {
    case 'task.request':
      return isServedOnPrem ? `${ROOT}.tasks.${taskOf(message)}` : undefined;
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

const broadcastSubject = ({ type }: JsonObject): string | undefined =>
  typeof type === 'string' && type.startsWith('broadcast.') ? `${ROOT}.${type}` : undefined;

const taskOf = ({ payload }: JsonObject): Json | undefined => (isObject(payload) ? payload.task : undefined);

/** The topic of a request is its task, that of a result ends with the task's id or the first eight digits of it. */
const refuseDisagreement = (subject: string, message: JsonObject): void => {
  const [, kind, ...rest] = subject.split('.');
  if (kind === 'tasks' && taskOf(message) !== rest.join('.')) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with the payload's task.`);
  }
  const id = rest.at(-1)?.toLowerCase() ?? '';
  const about = String(message.correlationId).toLowerCase();
  if (kind === 'results' && id !== about && !(id.length === SHORT_ID && about.startsWith(id))) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with the correlationId.`);
  }
  if (kind === 'broadcast' && message.type !== `broadcast.${rest.join('.')}`) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with the type of the message.`);
  }
  if (kind === 'heartbeat' && rest.join('.') !== message.from) {
    throw new ParleyError('invalid_params', `The subject ${subject} disagrees with whom the heartbeat is from.`);
  }
};

const SHORT_ID = 8;
