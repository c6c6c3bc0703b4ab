import type * as z from 'zod';
import type { Config } from '../../config.ts';
import { ParleyError } from '../../errors.ts';
import { idFrom } from '../../ids.ts';
import { checked } from '../../json/checked.ts';
import { fingerprint } from '../../json/fingerprint.ts';
import { type JsonObject, json } from '../../json/json.ts';
import type { Command, Request } from '../../messages/command.ts';
import type { Artifact } from '../../tasks/artifacts.ts';
import type { RetryPolicy } from '../../tasks/task.ts';
import { traceOf } from '../../trace.ts';
import { GIVEN_UP, MAX_ATTEMPTS, ruleFor } from './errors.ts';
import { type ArtifactShape, shapeOf, TaskRequest, TaskResponse, TaskUpdate, UnknownResponse } from './schema.ts';

/** Task Format has no time to live of its own. */
export const TTL_SECONDS = 3600;

/** Whoever is not named in a message is the one whose key brought it. */
export const decode = (wire: JsonObject, _config: Config, sender: string | undefined): Command => {
  const shape = shapeOf(wire);
  if (shape === UnknownResponse) checked(UnknownResponse, wire, 'invalid_message', WHAT);
  if (shape === TaskRequest) return requestOf(checked(TaskRequest, wire, 'invalid_message', WHAT), sender);
  if (shape === TaskUpdate) return updateOf(checked(TaskUpdate, wire, 'invalid_message', WHAT), sender);
  return reportOf(checked(TaskResponse, wire, 'invalid_message', WHAT), sender);
};

const WHAT = 'The task-format message';

const named = (name: string | undefined, sender: string | undefined, path: string): string => {
  const agent = name ?? sender;
  if (agent !== undefined) return agent;
  throw new ParleyError('invalid_message', `${WHAT} must say who sends it where an admin key brings it: ${path}.`, {
    issues: [{ path, message: 'must name the agent for which an admin key speaks' }],
  });
};

const requestOf = (wire: TaskRequest, sender: string | undefined): Request => {
  const { context, routing, observability, retryPolicy } = wire;
  const from = named(routing.source, sender, 'routing.source');
  const { parentTaskId, priority, ...aboutContext } = context;
  const { source: _source, target, delegationChain, ...aboutRouting } = routing;
  const trace = traceOf(observability.traceId, observability.spanId);
  const { traceId: _traceId, spanId: _spanId, ...aboutTrace } = observability;
  return {
    kind: 'request',
    messageId: wire.id,
    fingerprint: fingerprint({ ...wire, from }),
    from,
    taskId: wire.id,
    to: target,
    capability: wire.type,
    priority: priority === 'urgent' ? 'critical' : priority,
    ttlSeconds: TTL_SECONDS,
    parent: parentTaskId,
    conversation: context.conversationId,
    isSubtask: parentTaskId === undefined ? undefined : true,
    chain: delegationChain,
    retry: retryPolicy && retryOf(retryPolicy),
    maxAttempts: retryPolicy?.maxAttempts ?? MAX_ATTEMPTS,
    trace,
    input: wire.payload,
    carried: carriedIn({
      context: json(aboutContext),
      routing: json(aboutRouting),
      observability: json(trace ? aboutTrace : observability),
    }),
  };
};

const retryOf = ({ maxAttempts, backoffType, initialDelay }: NonNullable<TaskRequest['retryPolicy']>): RetryPolicy => ({
  maxAttempts,
  backoff: backoffType,
  initialMs: initialDelay,
});

const updateOf = (wire: TaskUpdate, sender: string | undefined): Command => {
  const from = named(undefined, sender, 'id');
  return { ...identityOf(wire.id, from, wire), kind: 'answer', answer: wire.input };
};

/** A response has no id of its own: the task, the agent and what it says are what it is known by. */
const identityOf = (taskId: string, from: string, said: object) => {
  const print = fingerprint(said);
  return { messageId: idFrom(`${taskId}#${from}#${print}`), fingerprint: print, from, taskId };
};

const reportOf = (wire: TaskResponse, sender: string | undefined): Command => {
  const { agent, progress, message, parley: _ours, ...rest } = wire.metadata;
  const from = named(agent, sender, 'metadata.agent');
  const about = { ...identityOf(wire.id, from, wire), isKnownByContent: true as const };
  const metadata = json(rest);
  switch (wire.status) {
    case 'pending':
      return { ...about, kind: 'claim', note: json({ ...rest, message }) };
    case 'in_progress':
      return { ...about, kind: 'progress', progress: { percent: progress, message, carried: carriedIn({ metadata }) } };
    case 'completed': {
      const carried = carriedIn({ metadata: json({ ...rest, progress, message }) });
      return {
        ...about,
        kind: 'complete',
        output: wire.result === undefined ? {} : wire.result,
        artifacts: wire.artifacts?.map(artifactOf),
        carried,
      };
    }
    case 'failed': {
      const { code, message: why, details, recoverable, ...more } = wire.error;
      const error = { code, message: why, details, ...ruleFor(code, recoverable) };
      const carried = carriedIn({ metadata: json({ ...rest, progress, message }), error: json(more) });
      return { ...about, kind: 'fail', error, carried };
    }
    case 'cancelled': {
      const error = { code: GIVEN_UP, message: message ?? `${from} gave the task up.`, retryable: false };
      const carried = carriedIn({ metadata: json({ ...rest, progress, message }), status: 'cancelled' });
      return { ...about, kind: 'fail', error, carried };
    }
    case 'input_required':
      return { ...about, kind: 'ask', prompt: json(wire.input) };
  }
};

const artifactOf = ({ name, type, content, encoding, ...more }: z.output<typeof ArtifactShape>): Artifact => ({
  ...json(more),
  name,
  type,
  content,
  encoding,
});

/** Under a name of its own, so that other dialects see that it is none of theirs. */
export const NAME = 'task-format';
const carriedIn = (parts: JsonObject): JsonObject => ({ [NAME]: parts });
