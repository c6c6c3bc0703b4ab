import type { Config } from '../../config.ts';
import { ParleyError } from '../../errors.ts';
import { idOfShort, SHORT_ID } from '../../ids.ts';
import { checked } from '../../json/checked.ts';
import { fingerprint } from '../../json/fingerprint.ts';
import { type JsonObject, json } from '../../json/json.ts';
import { refuseTooLarge } from '../../json/size.ts';
import type { Command, NoteMessage, Request } from '../../messages/command.ts';
import { refuseOtherMajor } from '../version.ts';
import { priorityOf } from './priorities.ts';
import { isTyped, MESSAGE_BYTES, MessageRoutingMessage, type OfType, PRIORITY, UntypedMessage } from './schema.ts';
import { inItsWords } from './validation.ts';

export const NAME = 'message-routing';
/** The version of the protocol that is spoken; another major version is refused. */
export const VERSION = '1.0.0';
/** Of a task without a deadline. */
export const TTL_SECONDS = 3600;
const MOST_TTL_SECONDS = 7 * 86_400;

export const decode = (wire: JsonObject, config: Config): Command =>
  inItsWords(wire, () => {
    refuseTooLarge(WHAT, wire, MESSAGE_BYTES);
    refuseOtherMajor(wire.version, VERSION);
    if (!isTyped(wire)) checked(UntypedMessage, wire, 'invalid_message', WHAT);
    return commandOf(checked(MessageRoutingMessage, wire, 'invalid_message', WHAT), config);
  });

const WHAT = 'The message-routing message';

const commandOf = (wire: MessageRoutingMessage, { dialects }: Config): Command => {
  const { acknowledgeMs, silentMs } = dialects[NAME];
  switch (wire.type) {
    case 'task-delegation':
      return requestOf(wire, acknowledgeMs);
    case 'result':
      return outcomeOf(wire);
    case 'status-update':
      return reportOf(wire, acknowledgeMs);
    case 'command':
      return orderOf(wire, acknowledgeMs);
    case 'heartbeat': {
      const { health, metrics = {}, uptime_ms } = wire.payload;
      const { cpu_usage, memory_mb, active_tasks } = metrics;
      return {
        ...named(wire),
        kind: 'heartbeat',
        heartbeat: {
          sentAt: Date.parse(wire.timestamp),
          status: health,
          silentMs,
          cpuUsage: cpu_usage,
          memoryMb: memory_mb,
          activeTaskCount: active_tasks,
          uptime: uptime_ms === undefined ? undefined : uptime_ms / 1000,
          version: wire.version,
        },
      };
    }
  }
};

const named = (wire: MessageRoutingMessage) => {
  const at = Date.parse(wire.timestamp);
  return {
    messageId: idOfShort(wire.from, wire.msg_id, at),
    givenId: wire.msg_id,
    fingerprint: fingerprint(wire),
    from: wire.from,
    sent: { at, sequence: wire.sequence, to: wire.to },
  };
};

const requestOf = (wire: OfType<'task-delegation'>, acknowledgeMs: number): Request => {
  const { context, metadata } = wire.payload;
  const first = metadata?.original_requester;
  const name = named(wire);
  return {
    ...name,
    kind: 'request',
    taskId: name.messageId,
    to: wire.to,
    capability: `${NAME}.${wire.type}`,
    domain: NAME,
    priority: priorityOf(wire.priority ?? PRIORITY),
    ttlSeconds: ttlOf(wire.timestamp, context?.deadline),
    parent: wire.correlation_id,
    chain: first === undefined || first === wire.from ? undefined : [first],
    waitsForShort: context?.dependencies?.filter((name) => SHORT_ID.test(name)),
    acknowledgeMs: wire.requires_ack ? acknowledgeMs : undefined,
    input: json(wire.payload),
    carried: carriedFrom(wire),
  };
};

/** Counted from when the sender wrote it, so that it need not have the same clock. */
const ttlOf = (timestamp: string, deadline: string | undefined): number => {
  if (deadline === undefined) return TTL_SECONDS;
  const seconds = Math.ceil((Date.parse(deadline) - Date.parse(timestamp)) / 1000);
  if (seconds > 0) return Math.min(seconds, MOST_TTL_SECONDS);
  throw new ParleyError('invalid_message', `${WHAT} is not valid: payload.context.deadline.`, {
    issues: [{ path: 'payload.context.deadline', message: 'must be later than the timestamp' }],
  });
};

/** `partial` completes the task too, and says so in its output. */
const outcomeOf = (wire: OfType<'result'>): Command => {
  const about = aboutTask(wire);
  const { status, metrics, issues = [] } = wire.payload;
  const confidence = metrics?.confidence;
  if (status !== 'failure') {
    const output = json(wire.payload);
    return {
      ...about,
      kind: 'complete',
      output,
      confidence,
      carried: carriedFrom(wire, { isPartial: partial(status) }),
    };
  }
  const message = issues.join('\n') || 'The task failed.';
  const error = { code: FAILURE, message: message.slice(0, LONGEST_TEXT), retryable: false };
  return { ...about, kind: 'fail', error, carried: carriedFrom(wire, { payload: json(wire.payload) }) };
};

/** The document has no codes: what fails, fails for good. */
const FAILURE = 'failure';
const LONGEST_TEXT = 4000;

const partial = (status: string): true | undefined => (status === 'partial' ? true : undefined);

/** About the task that it answers, or the only one that is open; where there is none, it is a message like any other. */
const reportOf = (wire: OfType<'status-update'>, acknowledgeMs: number): Command => {
  const { status, progress, message, confidence, blockers } = wire.payload;
  const carried = carriedFrom(wire, { payload: json(wire.payload) });
  const about = {
    ...aboutTask(wire),
    otherwise: { ...noteOf(wire, acknowledgeMs), saying: { status, progress, message, confidence, blockers } },
  };
  if (status === 'failed') {
    const error = { code: FAILURE, message: (message ?? 'The task failed.').slice(0, LONGEST_TEXT), retryable: false };
    return { ...about, kind: 'fail', error, carried };
  }
  const percent = status === 'completed' ? 100 : progress && Number((progress * 100).toFixed(6));
  return {
    ...about,
    kind: 'progress',
    progress: {
      percent,
      message: message?.slice(0, LONGEST_TEXT),
      blockers: blockers?.length ? blockers : undefined,
      confidence,
      carried,
    },
  };
};

const orderOf = (wire: OfType<'command'>, acknowledgeMs: number): NoteMessage => {
  const { action, parameters = {} } = wire.payload;
  const { reason, timeout_ms } = parameters;
  return { ...noteOf(wire, timeout_ms ?? acknowledgeMs), order: { action, reason, timeoutMs: timeout_ms } };
};

/** It answers what its recipient asked for. */
const aboutTask = (wire: MessageRoutingMessage) => ({
  ...named(wire),
  taskId: wire.correlation_id ?? '',
  requester: wire.to,
});

const noteOf = (wire: MessageRoutingMessage, acknowledgeMs: number): NoteMessage => ({
  ...named(wire),
  kind: 'note',
  to: wire.to,
  type: `${NAME}.${wire.type}`,
  priority: priorityOf(wire.priority ?? PRIORITY),
  correlation: wire.correlation_id,
  acknowledgeMs: wire.requires_ack ? acknowledgeMs : undefined,
  content: json(wire.payload),
  carried: carriedFrom(wire),
});

const CANONICAL = ['msg_id', 'from', 'to', 'payload'];

/** What has no canonical place, under the dialect's name: version, time, sequence, the number that the priority is, and what is not in the document. */
const carriedFrom = (wire: MessageRoutingMessage, more: object = {}): JsonObject => {
  const envelope = Object.fromEntries(Object.entries(wire).filter(([field]) => !CANONICAL.includes(field)));
  return { [NAME]: json({ ...envelope, ...more }) };
};
