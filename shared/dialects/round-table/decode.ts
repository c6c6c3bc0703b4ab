import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import type { Command } from '../../model/command.ts';
import type { TaskError } from '../../model/task.ts';
import { assertSameMajorVersion, omitStamps, toNotBefore, toTimeToLive } from '../codec-helpers.ts';
import { ROUND_TABLE } from './name.ts';
import {
  hasRoundTableType,
  isRoundTableErrorCode,
  ROUND_TABLE_ERROR_CODES,
  ROUND_TABLE_TYPES,
  RoundTableMessage,
  UntypedRoundTableMessage,
} from './schema.ts';

export const decode = (wire: JsonObject, config: Config): Command => {
  assertSameMajorVersion(wire.version, config.dialects[ROUND_TABLE].version);
  if (typeof wire.type !== 'string') parseOrThrow(UntypedRoundTableMessage, wire, 'invalid_message', MESSAGE_LABEL);
  else if (!hasRoundTableType(wire)) {
    throw new ParleyError(
      'unknown_type',
      `Round Table has no type "${wire.type.slice(0, 64)}". Known: ${ROUND_TABLE_TYPES.join(', ')}.`,
      {
        details: { known: ROUND_TABLE_TYPES },
      },
    );
  }
  return toCommand(parseOrThrow(RoundTableMessage, wire, 'invalid_message', MESSAGE_LABEL));
};

export const MESSAGE_LABEL = 'The round-table message';

/** What does not say when was sent now, which is the latest that counts. */
const toSentAt = ({ timestamp }: RoundTableMessage): number =>
  timestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(timestamp);

export const toCommand = (wire: RoundTableMessage): Command => {
  const message = {
    messageId: wire.id,
    fingerprint: computeFingerprint(omitStamps(toJsonObject(wire))),
    from: wire.from,
  };
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
        ...toTimeToLive(wire.ttl),
        ...toNotBefore(wire.notBefore),
        limits: wire.limits,
        input: params,
        extensions: buildExtensions(wire, payload),
        to: wire.to,
        parent: wire.correlationId,
      };
    }
    case 'task.claimed': {
      const { estimatedDurationSeconds: seconds } = wire.payload;
      const estimateMs = seconds && seconds * 1000;
      return {
        ...message,
        kind: 'claim',
        taskId: wire.correlationId,
        claimNote: toJsonObject(wire.payload),
        estimateMs,
      };
    }
    case 'task.progress': {
      const { percent, message: said, subTasks, attempt, ...payload } = wire.payload;
      const extensions = buildExtensions(wire, payload);
      const progress = { percent, message: said, subTasks: subTasks?.map(toJsonObject), extensions };
      return { ...message, attempt, kind: 'progress', taskId: wire.correlationId, progress };
    }
    case 'task.result': {
      const { status, result, attempt, ...payload } = wire.payload;
      const about = { ...message, attempt, taskId: wire.correlationId };
      if (status !== 'failed') {
        const output = toResultObject(result);
        const reply = { content: output };
        return { ...about, kind: 'complete', output, reply, extensions: buildExtensions(wire, payload) };
      }
      return {
        ...about,
        kind: 'fail',
        error: toTaskError(wire.payload),
        extensions: buildExtensions(wire, { ...payload, result: result && toResultObject(result) }),
      };
    }
    case 'task.failed': {
      const { attempt, release, ...payload } = wire.payload;
      const about = { ...message, attempt, taskId: wire.correlationId, release: release ? (true as const) : undefined };
      return { ...about, kind: 'fail', error: toTaskError(wire.payload), extensions: buildExtensions(wire, payload) };
    }
    case 'heartbeat': {
      const { status, capabilities, uptime, activeTaskCount, model, version, instance } = wire.payload;
      const said = { uptime, activeTaskCount, model, version, instance };
      return {
        ...message,
        kind: 'heartbeat',
        heartbeat: { sentAt: toSentAt(wire), status, capabilities, ...said },
      };
    }
    case 'broadcast.config-update':
    case 'broadcast.maintenance':
    case 'broadcast.alert':
      return {
        ...message,
        kind: 'directMessage',
        audience: 'all',
        to: 'all',
        type: `${ROUND_TABLE}.${wire.type}`,
        priority: wire.priority,
        ...toTimeToLive(wire.ttl),
        // Each recipient's own has another id.
        correlation: wire.correlationId ?? wire.id,
        content: wire.payload,
        extensions: buildExtensions(wire, {}),
      };
  }
};

const toResultObject = (result: JsonObject | string): JsonObject =>
  typeof result === 'string' ? { content: result } : result;

/** Who fails may give up where the table allows another try, but not the other way round. */
const toTaskError = (failure: {
  error?: string | undefined;
  message?: string | undefined;
  retryable?: boolean | undefined;
  retryAfterSeconds?: number | undefined;
}): TaskError => {
  const code = failure.error ?? 'internal_error';
  const rule: { retryable: boolean; attempts?: number } =
    ROUND_TABLE_ERROR_CODES[isRoundTableErrorCode(code) ? code : 'internal_error'];
  return {
    code,
    message: failure.message ?? code,
    retryable: rule.retryable && failure.retryable !== false,
    retryAfterSeconds: failure.retryAfterSeconds,
    attempts: rule.attempts,
  };
};

/** What has no canonical place: the version, the sender's own time, and whatever a newer minor version adds. */
const buildExtensions = (wire: RoundTableMessage, payload: object): JsonObject => {
  const { id, type, from, to, correlationId, priority, ttl, payload: _payload, ...envelope } = wire;
  return { envelope: toJsonObject(envelope), payload: toJsonObject(payload) };
};
