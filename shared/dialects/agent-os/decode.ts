import { ParleyError } from '../../errors.ts';
import { canonicalId } from '../../ids.ts';
import { checked } from '../../json/checked.ts';
import { fingerprint } from '../../json/fingerprint.ts';
import { isObject, type Json, type JsonObject, json } from '../../json/json.ts';
import type { Command, NoteMessage, Request } from '../../messages/command.ts';
import type { Progress, TaskError } from '../../tasks/task.ts';
import { refuseOtherMajor } from '../version.ts';
import { ERROR_CODES } from './error-codes.ts';
import { isFabricated } from './evidence.ts';
import {
  type AgentOsMessage,
  type ErrorContent,
  isTyped,
  AgentOsMessage as Messages,
  TYPES,
  UntypedMessage,
} from './schema.ts';
import { withRules } from './validation-rules.ts';

/** The version of the schema that is spoken; another major version is refused. */
export const VERSION = '1.0.0';
export const NAME = 'agent-os';

export const decode = (wire: JsonObject): Command => {
  refuseOtherMajor(wire.version, VERSION);
  if (typeof wire.type === 'string' && !isTyped(wire)) {
    throw new ParleyError(
      'unknown_type',
      `AgentOS has no type "${wire.type.slice(0, 64)}". Known: ${TYPES.join(', ')}.`,
      { facts: { known: TYPES } },
    );
  }
  return withRules(wire, () => {
    if (wire.type === undefined || typeof wire.type !== 'string')
      checked(UntypedMessage, wire, 'invalid_message', WHAT);
    return commandOf(checked(Messages, wire, 'invalid_message', WHAT));
  });
};

const WHAT = 'The agent-os message';

const commandOf = (wire: AgentOsMessage): Command => {
  const about = wire.replyTo === undefined ? undefined : { ...named(wire), taskId: canonicalId(wire.replyTo) };
  switch (wire.type) {
    case 'query':
      return { ...requestOf(wire), isQuestion: true };
    case 'command':
      return requestOf(wire);
    case 'response': {
      const answer = { ...named(wire), taskId: canonicalId(wire.replyTo) };
      if (isFabricated(wire.payload.content, wire.evidence)) return fabrication(wire, answer.taskId);
      const confidence = wire.evidence.confidence / 100;
      return {
        ...answer,
        kind: 'complete',
        output: wire.payload.content,
        confidence,
        carried: carriedFrom(wire, control(wire)),
      };
    }
    case 'error': {
      const error = errorOf(wire.payload.content);
      const content = json(wire.payload.content);
      if (about) return { ...about, kind: 'fail', error, carried: carriedFrom(wire, { content, ...control(wire) }) };
      const thread = wire.context?.requestId;
      return { ...noteOf(wire, content), failing: thread === undefined ? undefined : { thread, error } };
    }
    case 'event': {
      const note = noteOf(wire, wire.payload.content);
      return about ? { ...about, kind: 'progress', progress: progressOf(wire), otherwise: note } : note;
    }
    case 'validation':
    case 'correction': {
      const request = requestOf(wire);
      const answer = { output: wire.payload.content, carried: carriedFrom(wire, control(wire)) };
      return about ? { ...about, ...answer, kind: 'complete', otherwise: request } : request;
    }
    case 'evidence':
      return noteOf(wire, wire.payload.content);
    case 'gap':
      return { ...noteOf(wire, wire.payload.content), ticket: true };
  }
};

const named = (wire: AgentOsMessage) => ({
  messageId: canonicalId(wire.id),
  givenId: wire.id,
  fingerprint: fingerprint({ ...wire, id: canonicalId(wire.id), replyTo: wire.replyTo && canonicalId(wire.replyTo) }),
  from: wire.from.agentId,
  told: { evidenceCount: wire.evidence.sources.length, confidenceScore: wire.evidence.confidence },
});

/** Always for one agent, so that the domain says only where the task comes from. */
const requestOf = (wire: Exclude<AgentOsMessage, { type: 'error' }>): Request => ({
  ...named(wire),
  kind: 'request',
  taskId: canonicalId(wire.id),
  to: wire.to.agentId,
  instance: wire.to.instanceId,
  fromInstance: wire.from.instanceId,
  capability: `${NAME}.${wire.type}`,
  domain: NAME,
  priority: wire.priority,
  ttlSeconds: wire.ttl,
  parent: wire.replyTo && canonicalId(wire.replyTo),
  thread: wire.context?.requestId,
  conversation: wire.context?.conversationId,
  input: wire.payload.content,
  carried: carriedFrom(wire, { replyTo: wire.replyTo }),
});

const noteOf = (wire: AgentOsMessage, content: Json): NoteMessage => ({
  ...named(wire),
  kind: 'note',
  to: wire.to.agentId,
  instance: wire.to.instanceId,
  type: `${NAME}.${wire.type}`,
  priority: wire.priority,
  ttlSeconds: wire.ttl,
  correlation: wire.replyTo && canonicalId(wire.replyTo),
  content,
  carried: carriedFrom(wire, { replyTo: wire.replyTo }),
});

const fabrication = (wire: AgentOsMessage, taskId: string): Command => ({
  ...named(wire),
  kind: 'violation',
  code: 'fabrication_detected',
  law: 'R0',
  severity: 'critical',
  action: 'blocked',
  detail: `It claims ${wire.evidence.confidence} % confidence and names no source.`,
  taskId,
  to: wire.to.agentId,
});

/** Who fails may give up where the table allows another try, but not the other way round. */
const errorOf = ({ code, message, details, recoverable, suggestion }: ErrorContent): TaskError => ({
  code,
  message,
  retryable: ERROR_CODES[code].recoverable && recoverable !== false,
  details: details === undefined && suggestion === undefined ? undefined : json({ ...asObject(details), suggestion }),
});

const asObject = (details: unknown): object => {
  if (isObject(details)) return details;
  return details === undefined ? {} : { details };
};

const progressOf = (wire: Extract<AgentOsMessage, { type: 'event' }>): Omit<Progress, 'at'> => {
  const { content } = wire.payload;
  const { percent, message } = isObject(content) ? content : {};
  return {
    percent: typeof percent === 'number' && percent >= 0 && percent <= 100 ? percent : undefined,
    message: typeof message === 'string' ? message.slice(0, 4000) : undefined,
    carried: carriedFrom(wire, { content, ...control(wire) }),
  };
};

/** A task has its own; an answer to it may say others. */
const control = ({ priority, ttl }: AgentOsMessage) => ({ priority, ttl });

/** What has a canonical place. */
const CANONICAL = ['replyTo', 'priority', 'ttl', 'payload'];

/** All that has no canonical place, under the dialect's name: ids as they were written, instances, context, evidence. */
const carriedFrom = (wire: AgentOsMessage, more: object = {}): JsonObject => {
  const envelope = Object.fromEntries(Object.entries(wire).filter(([field]) => !CANONICAL.includes(field)));
  const { content: _content, ...payload } = wire.payload;
  return { [NAME]: json({ ...envelope, payload: json(payload), ...more }) };
};
