import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import type { Artifact } from '../../model/artifact.ts';
import type { Command, DirectMessageCommand, TaskReport, TaskRequestCommand } from '../../model/command.ts';
import { AGENT_OS } from '../agent-os/decode.ts';
import { toNotBefore } from '../codec-helpers.ts';
import { Answer, Message, pickNativeSchema, Report, Request } from './schema.ts';

export const NATIVE = 'native';
const MESSAGE_LABEL = 'The native message';
/** Who gives a task back has failed at nothing. */
const RELEASED = { code: 'released', message: 'The holder released the task.', retryable: true };

export const decode = (wire: JsonObject, _config: Config, sender: string | undefined): Command => {
  const schema = pickNativeSchema(wire.kind);
  if (schema === Request) return toRequest(parseOrThrow(Request, wire, 'invalid_message', MESSAGE_LABEL), sender);
  if (schema === Report) return toReport(parseOrThrow(Report, wire, 'invalid_message', MESSAGE_LABEL), sender);
  if (schema === Answer) return toAnswer(parseOrThrow(Answer, wire, 'invalid_message', MESSAGE_LABEL), sender);
  if (schema === Message) return toDirectMessage(parseOrThrow(Message, wire, 'invalid_message', MESSAGE_LABEL), sender);
  parseOrThrow(schema, wire, 'invalid_message', MESSAGE_LABEL);
  throw new ParleyError('unknown_type', `The dialect native has no kind "${String(wire.kind).slice(0, 64)}".`);
};

const resolveSender = (from: string | undefined, sender: string | undefined): string => {
  const agent = from ?? sender;
  if (agent !== undefined) return agent;
  throw new ParleyError(
    'invalid_message',
    `${MESSAGE_LABEL} must say who sends it where an admin key brings it: from.`,
    {
      issues: [{ path: 'from', message: 'must name the agent for which an admin key speaks' }],
    },
  );
};

const toExtensions = (metadata: JsonObject | undefined): JsonObject =>
  metadata === undefined ? {} : { [NATIVE]: { metadata } };

/** Where readers that have a place for it look. Their confidence is a number up to 100. */
const toEvidence = (evidence: object | undefined, confidence = 0): JsonObject =>
  evidence === undefined
    ? {}
    : { [AGENT_OS]: { evidence: toJsonObject({ ...evidence, confidence: Number((confidence * 100).toFixed(6)) }) } };

const toRequest = (wire: Request, sender: string | undefined): TaskRequestCommand => {
  const from = resolveSender(wire.from, sender);
  const { id, capability, input = {}, to, priority, ttlSeconds, conversation, user, parent, metadata } = wire;
  return {
    kind: 'request',
    messageId: id,
    fingerprint: computeFingerprint({ ...wire, from }),
    from,
    taskId: id,
    capability,
    input,
    to,
    priority,
    ttlSeconds,
    ...toNotBefore(wire.notBefore),
    limits: wire.limits,
    conversation,
    user,
    parent,
    isSubtask: parent === undefined ? undefined : true,
    dependencyIds: wire.dependencies,
    onFailure: wire.onFailure,
    retry: wire.retry,
    maxAttempts: wire.retry?.maxAttempts,
    extensions: toExtensions(metadata),
  };
};

const toReport = (wire: Report, sender: string | undefined): TaskReport => {
  const from = resolveSender(wire.from, sender);
  const { id, taskId, attempt, metadata } = wire;
  const fingerprint = computeFingerprint({ ...wire, from });
  const identity =
    id === undefined
      ? { messageId: uuidFromSeed([NATIVE, taskId, from, fingerprint]), isIdentifiedByContent: true as const }
      : { messageId: id };
  const about = { ...identity, fingerprint, from, taskId, attempt };
  const extensions = toExtensions(metadata);
  switch (wire.kind) {
    case 'claim': {
      const { estimateSeconds } = wire;
      const estimateMs = estimateSeconds && estimateSeconds * 1000;
      return { ...about, kind: 'claim', claimNote: toJsonObject({ estimateSeconds, ...metadata }), estimateMs };
    }
    case 'progress':
      return { ...about, kind: 'progress', progress: { percent: wire.percent, message: wire.message, extensions } };
    case 'result': {
      const { output = null, confidence, evidence } = wire;
      const artifacts = wire.artifacts?.map(
        ({ name, type, content, encoding, ...more }): Artifact => ({
          ...toJsonObject(more),
          name,
          type,
          content,
          encoding,
        }),
      );
      const told = { ...extensions, ...toEvidence(evidence, confidence) };
      return { ...about, kind: 'complete', output, confidence, artifacts, extensions: told };
    }
    case 'failure': {
      const { code, message, retryable, retryAfterSeconds, details } = wire;
      return { ...about, kind: 'fail', error: { code, message, retryable, retryAfterSeconds, details }, extensions };
    }
    case 'release':
      return { ...about, kind: 'fail', release: true, error: RELEASED, extensions };
    case 'question': {
      const { prompt, schema, step, requeue } = wire;
      return { ...about, kind: 'ask', prompt: toJsonObject({ prompt, schema, step, requeue }) };
    }
  }
};

const toAnswer = (wire: Answer, sender: string | undefined): Command => {
  const from = resolveSender(wire.from, sender);
  const fingerprint = computeFingerprint({ ...wire, from });
  const messageId = uuidFromSeed([NATIVE, wire.taskId, from, fingerprint]);
  return { kind: 'answer', messageId, fingerprint, from, taskId: wire.taskId, answer: wire.answer };
};

const toDirectMessage = (wire: Message, sender: string | undefined): DirectMessageCommand => {
  const from = resolveSender(wire.from, sender);
  const { id, to, type, content, priority, ttlSeconds, correlation, metadata } = wire;
  return {
    kind: 'directMessage',
    messageId: id,
    fingerprint: computeFingerprint({ ...wire, from }),
    from,
    to,
    type: `${NATIVE}.${type}`,
    content,
    priority,
    ttlSeconds,
    correlation,
    extensions: toExtensions(metadata),
  };
};
