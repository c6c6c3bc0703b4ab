import type { Config } from '../../config.ts';
import { ParleyError } from '../../errors.ts';
import { checked } from '../../json/checked.ts';
import { fingerprint } from '../../json/fingerprint.ts';
import { type JsonObject, json } from '../../json/json.ts';
import type { Command } from '../../messages/command.ts';
import type { TaskError } from '../../tasks/task.ts';
import { refuseOtherMajor } from '../version.ts';
import { NAME } from './name.ts';
import { ERROR_CODES, type ErrorCode, isTyped, RoundTableMessage, TYPES, UntypedMessage } from './schema.ts';

export const decode = (wire: JsonObject, config: Config): Command => {
  refuseOtherMajor(wire.version, config.dialects[NAME].version);
  if (typeof wire.type !== 'string') checked(UntypedMessage, wire, 'invalid_message', WHAT);
  else if (!isTyped(wire)) {
    throw new ParleyError(
      'unknown_type',
      `Round Table has no type "${wire.type.slice(0, 64)}". Known: ${TYPES.join(', ')}.`,
      {
        facts: { known: TYPES },
      },
    );
  }
  return commandOf(checked(RoundTableMessage, wire, 'invalid_message', WHAT));
};

const WHAT = 'The round-table message';

const commandOf = (wire: RoundTableMessage): Command => {
  const message = { messageId: wire.id, fingerprint: fingerprint(wire), from: wire.from };
  switch (wire.type) {
    case 'task.request': {
      const { task, params, ...payload } = wire.payload;
      return {
        ...message,
        kind: 'request',
        taskId: wire.id,
        capability: task,
        domain: task.slice(0, task.indexOf('.')),
        priority: wire.priority,
        ttlSeconds: wire.ttl,
        input: params,
        carried: carriedFrom(wire, payload),
        to: wire.to,
        parent: wire.correlationId,
      };
    }
    case 'task.claimed':
      return { ...message, kind: 'claim', taskId: wire.correlationId, note: json(wire.payload) };
    case 'task.progress': {
      const { percent, message: said, subTasks, attempt, ...payload } = wire.payload;
      const carried = carriedFrom(wire, payload);
      const progress = { percent, message: said, subTasks: subTasks?.map(json), carried };
      return { ...message, attempt, kind: 'progress', taskId: wire.correlationId, progress };
    }
    case 'task.result': {
      const { status, result, attempt, ...payload } = wire.payload;
      const about = { ...message, attempt, taskId: wire.correlationId };
      if (status === 'completed') {
        return { ...about, kind: 'complete', output: result ?? {}, carried: carriedFrom(wire, payload) };
      }
      return {
        ...about,
        kind: 'fail',
        error: errorOf(wire.payload),
        carried: carriedFrom(wire, { ...payload, result }),
      };
    }
    case 'task.failed': {
      const { attempt, ...payload } = wire.payload;
      const about = { ...message, attempt, taskId: wire.correlationId };
      return { ...about, kind: 'fail', error: errorOf(wire.payload), carried: carriedFrom(wire, payload) };
    }
    case 'heartbeat': {
      const { status, capabilities, uptime, activeTaskCount, model, version } = wire.payload;
      const said = { uptime, activeTaskCount, model, version };
      return {
        ...message,
        kind: 'heartbeat',
        heartbeat: { sentAt: Date.parse(wire.timestamp), status, capabilities, ...said },
      };
    }
    case 'broadcast.config-update':
    case 'broadcast.maintenance':
    case 'broadcast.alert':
      return {
        ...message,
        kind: 'note',
        audience: 'all',
        to: 'all',
        type: `${NAME}.${wire.type}`,
        priority: wire.priority,
        ttlSeconds: wire.ttl,
        // Each recipient's own has another id.
        correlation: wire.correlationId ?? wire.id,
        content: wire.payload,
        carried: carriedFrom(wire, {}),
      };
  }
};

/** Who fails may give up where the table allows another try, but not the other way round. */
const errorOf = (failure: {
  error?: ErrorCode | undefined;
  message?: string | undefined;
  retryable?: boolean | undefined;
  retryAfterSeconds?: number | undefined;
}): TaskError => {
  const code = failure.error ?? 'internal_error';
  const rule: { retryable: boolean; attempts?: number } = ERROR_CODES[code];
  return {
    code,
    message: failure.message ?? code,
    retryable: rule.retryable && failure.retryable !== false,
    retryAfterSeconds: failure.retryAfterSeconds,
    attempts: rule.attempts,
  };
};

/** What has no canonical place: the version, the sender's own time, and whatever a newer minor version adds. */
const carriedFrom = (wire: RoundTableMessage, payload: object): JsonObject => {
  const { id, type, from, to, correlationId, priority, ttl, payload: _payload, ...envelope } = wire;
  return { envelope: json(envelope), payload: json(payload) };
};
