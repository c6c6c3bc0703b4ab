import { withoutBlanks } from '../../ids.ts';
import { type Outcome, PARLEY } from '../../inbox/delivery.ts';
import { iso } from '../../json/iso.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import type { Note } from '../../notes/note.ts';
import type { Reported, Task } from '../../tasks/task.ts';
import { type Carried, carriedIn } from './carried.ts';
import { inHeaders } from './headers.ts';
import { agentSubject, type Category } from './subject.ts';

/** A command is given on as it came; any other task is a turn of whoever claimed it. */
export const encodeRequest = (task: Task, input: Json): JsonObject => {
  const { subject, headers, ...about } = carriedIn(task.carried);
  if (subject !== undefined) return { subject, headers: { ...headers, traceparent: task.traceparent }, payload: input };
  const target = task.to ?? task.holder ?? PARLEY;
  return message(task, about, ['cmd', target, 'turn'], task.createdAt, task.from, {
    correlation_id: withoutBlanks(task.id),
    mode: 'call',
    channel_id: about.channel,
    recursion_depth: about.depth,
    payload: workOf(task, input),
  });
};

/** What a task asks for, in the words of a turn; what the protocol has none for stands under `parley`. */
export const workOf = (task: Task, input: Json): JsonObject => ({
  capability: task.capability,
  input,
  priority: task.priority,
  ttl_seconds: task.ttlSeconds,
  from: task.from,
  parley: {
    ...foreign(task.carried),
    attempt: task.attempt,
    parent: task.parent,
    chain: task.chain,
    retry: task.retry && { ...task.retry },
    lastError: task.error && { ...task.error },
  },
});

export const encodeReport = (task: Reported): JsonObject => {
  const { percent, message: said } = task.progress ?? {};
  const holder = task.holder ?? PARLEY;
  return message(task, carriedIn(task.carried), ['evt', holder, 'state'], task.at, holder, {
    agent_id: holder,
    agent_turn_id: task.id,
    status: task.status === 'requested' ? 'idle' : task.progress ? 'running' : 'dispatched',
    turn_epoch: task.attempt,
    updated_at: iso(task.at),
    metadata: { progress: percent, message: said },
  });
};

const STATUS: Record<Outcome['status'], string> = {
  waiting: 'idle',
  requested: 'idle',
  claimed: 'running',
  in_progress: 'running',
  input_required: 'suspended',
  completed: 'success',
  failed: 'failed',
  expired: 'timeout',
  cancelled: 'canceled',
};

/** How a task ended is the task event of a turn; that it asks, or was answered, is a state. */
export const encodeOutcome = (
  outcome: Outcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { task, status, from, error, prompt, answer } = outcome;
  const about = carriedIn(task.carried);
  const agent = task.holder ?? from;
  if (status === 'input_required' || status === 'claimed') {
    return message(task, about, ['evt', agent, 'state'], outcome.happenedAt, from, {
      agent_id: agent,
      agent_turn_id: task.id,
      status: STATUS[status],
      turn_epoch: task.attempt,
      updated_at: iso(outcome.happenedAt),
      metadata: { input: { ...prompt, answer }, parley: { id: outcome.id } },
    });
  }
  return message(task, about, ['evt', agent, 'task'], outcome.happenedAt, from, {
    agent_turn_id: task.id,
    status: STATUS[status],
    error: error?.message,
    error_code: error?.code ?? (status === 'completed' ? undefined : STATUS[status]),
    metadata: {
      parley: {
        id: outcome.id,
        output,
        artifacts,
        retryable: error?.retryable,
        details: error?.details,
        ...foreign(outcome.carried),
      },
    },
  });
};

export const encodeNote = (note: Note, content: Json): JsonObject =>
  message(note, carriedIn(note.carried), ['evt', note.from, 'message'], note.createdAt, note.from, {
    message_id: note.id,
    type: note.type,
    to: note.to,
    content,
    metadata: { parley: foreign(note.carried) },
  });

const foreign = ({ commonGround: _own, ...carried }: JsonObject): JsonObject => carried;

const message = (
  of: { traceparent: string; tracestate?: string; project: string },
  { channel, depth }: Pick<Carried, 'channel' | 'depth'>,
  [category, target, suffix]: [Category, string, string],
  at: number,
  sender: string,
  payload: JsonObject,
): JsonObject => ({
  subject: agentSubject({ project: of.project, channel }, category, target, suffix),
  headers: inHeaders({ ...of, at, type: `${category}.agent.${suffix}`, sender, depth }),
  payload,
});
