import type { JsonObject } from '../../../kernel/json/json.ts';
import type { NatsEnvelope } from '../../../nats/nats-message.ts';
import type { NatsBinding, NatsSite } from '../../nats-binding.ts';
import { roundTableNatsBinding } from '../nats-binding.ts';
import { getSubjects } from '../streams.ts';
import { getKnightTaskId, isHeartbeat, isReport, isTextTask } from './to-document.ts';

/** The subjects of the document. Knights say in them what they leave out of their messages. */
export const knightNatsBinding: NatsBinding = {
  ...roundTableNatsBinding,
  // Knights claim nothing, and do a task as often as they read it.
  getPublishedState: () => ({ isHeard: false }),
  toNats: (message, about) => {
    const { replySubject, ...rest } = message;
    if (message.type === 'task.request') return addressRequest(rest, about);
    const isEnd = message.type === 'task.result' || message.type === 'task.failed';
    return isEnd && isResultSubject(replySubject, about)
      ? { subject: replySubject, payload: rest }
      : roundTableNatsBinding.toNats(rest, about);
  },
  fromNats: (arrival, message, site) => {
    const [, kind, first, ...rest] = arrival.subject.split('.');
    if (kind === 'tasks' && isTextTask(message)) return withRequestFacts(arrival, message, site);
    if (kind === 'heartbeat' && isHeartbeat(message)) return { agentId: first, ...message };
    if (kind === 'results') {
      return isReport(message) && getKnightTaskId(message) === undefined
        ? { ...message, taskId: rest.at(-1) ?? first }
        : message;
    }
    return roundTableNatsBinding.fromNats(arrival, message, site);
  },
};

const addressRequest: NatsBinding['toNats'] = (message, about) => {
  const addressed = roundTableNatsBinding.toNats(message, about);
  const replySubject = `${getSubjects(about).prefix}.results.${about.domain}.${message.id}`;
  return addressed && { ...addressed, payload: { ...message, replySubject } };
};

/** Nobody makes Parley say something on a subject that is not for results. */
const isResultSubject = (subject: unknown, site: NatsSite): subject is string =>
  typeof subject === 'string' &&
  subject.startsWith(`${getSubjects(site).prefix}.results.`) &&
  /^[\w-]+(\.[\w-]+)+$/.test(subject);

const withRequestFacts = ({ subject }: NatsEnvelope, message: JsonObject, site: NatsSite): JsonObject => {
  const [, , domain, ...rest] = subject.split('.');
  const last = rest.join('.');
  const taskId = getKnightTaskId(message) ?? last;
  const { prefix, requester } = getSubjects(site);
  const { replySubject, reply_subject, metadata } = message;
  const inside = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? metadata : {};
  const asked = [replySubject, reply_subject, inside.replySubject, inside.replyTo].find((one) =>
    isResultSubject(one, site),
  );
  return {
    from: requester,
    ...message,
    domain,
    action: last === taskId ? undefined : last,
    taskId,
    replySubject: asked ?? `${prefix}.results.${taskId}`,
  };
};
