import type { Batch } from '../model/batch.ts';
import type { Broadcast } from '../model/broadcast.ts';
import type { TaskOutcome } from '../model/delivery.ts';
import type { DirectMessage } from '../model/direct-message.ts';
import { toReportedTask } from '../model/inbox-report.ts';
import type { ReportedTask, Task } from '../model/task.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { Priority, QueueMessage } from '../ports/queues.ts';
import { NatsMessage } from './nats-message.ts';

/** What the relay asks the cloud to be put into words before it publishes it. */
export type RelayItem =
  /** `resent` is absent in what an earlier version queued. */
  | { kind: 'request'; taskId: string; queueGeneration: number; requeueCount?: number }
  | { kind: 'report'; task: RelayedReport }
  | { kind: 'outcome'; outcome: TaskOutcome }
  | { kind: 'directMessage'; from: string; messageId: string }
  | { kind: 'batch'; batchId: string }
  | { kind: 'broadcast'; broadcastId: string }
  | (Presence & { kind: 'presence' });

export type RelayedReport = Omit<ReportedTask, 'processedMessages'>;

export interface Presence {
  agent: string;
  isOnline: boolean;
  at: number;
}

/** An item of a relay queue: a message to publish, or what to render as one. */
type RelayQueueBody = { at: number } & ({ publish: NatsMessage } | { item: RelayItem; id: string });

interface RelayAddress {
  project: string;
  priority: Priority;
  /** Whoever reads it gets messages of one group in their order. */
  group: string;
  at: number;
  /** The same for every sending of the same message. */
  id: string;
}

const buildRelayMessage = ({ project, priority, group, at, id }: RelayAddress, body: RelayQueueBody): QueueMessage => ({
  queueKey: { project, kind: 'relay', name: 'egress', priority },
  group,
  dedupId: id,
  at,
  // Absent fields would be null in some engines; a message is JSON once more in each of them.
  body: JSON.parse(JSON.stringify(body)),
});

const buildItemMessage = (address: RelayAddress, item: RelayItem): QueueMessage =>
  buildRelayMessage(address, { at: address.at, id: address.id, item });

const toTaskAddress = ({ project, priority, id, at }: Task): Omit<RelayAddress, 'id'> => ({
  project,
  priority,
  group: id,
  at,
});

/** For whoever is to do the task. What is no longer wanted when its turn comes is not published. */
export const buildRequestRelay = (task: Task): QueueMessage =>
  buildItemMessage(
    { ...toTaskAddress(task), at: task.queuedAt, id: `${task.id}#${task.queueGeneration}#${task.requeueCount}` },
    { kind: 'request', taskId: task.id, queueGeneration: task.queueGeneration, requeueCount: task.requeueCount },
  );

/** For the requester: what the holder said last. */
export const buildReportRelay = (
  task: Task,
  more: Pick<ReportedTask, 'reportId' | 'failedAttempt'> = {},
): QueueMessage =>
  buildItemMessage(
    { ...toTaskAddress(task), id: `${task.id}#${task.v}#report` },
    { kind: 'report', task: toReportedTask(task, more) },
  );

/** For whoever must know how a task ended, what its holder asks or what it was answered. */
export const buildOutcomeRelay = (project: string, outcome: TaskOutcome): QueueMessage => {
  const { task, happenedAt, to, id } = outcome;
  const address = { project, priority: task.priority, group: task.id, at: happenedAt };
  return buildItemMessage({ ...address, id: `${task.id}#${to}#${id}#${outcome.status}` }, { kind: 'outcome', outcome });
};

export const buildDirectMessageRelay = (directMessage: DirectMessage): QueueMessage => {
  const { project, priority, to, from, id, createdAt } = directMessage;
  return buildItemMessage(
    { project, priority, group: `agent/${to}`, at: createdAt, id: `note/${from}/${id}` },
    { kind: 'directMessage', from, messageId: id },
  );
};

/** For its requester: how it ended. */
export const buildBatchRelay = ({ project, id, from, at }: Batch): QueueMessage =>
  buildItemMessage(
    { project, priority: 'normal', group: `agent/${from}`, at, id: `batch/${id}` },
    { kind: 'batch', batchId: id },
  );

/** For everybody on NATS. */
export const buildPresenceRelay = (project: string, agent: string, isOnline: boolean, at: number): QueueMessage =>
  buildItemMessage(
    { project, priority: 'normal', group: `presence/${agent}`, at, id: `presence/${agent}/${at}` },
    { kind: 'presence', agent, isOnline, at },
  );

export const buildBroadcastRelay = ({ project, id, from, at, command }: Broadcast): QueueMessage =>
  buildItemMessage(
    { project, priority: command.priority, group: `broadcasts/${from}`, at, id: `broadcast/${id}` },
    { kind: 'broadcast', broadcastId: id },
  );

/** A message whose dialect has said already how it is to be published. */
export const buildPublishRelay = (
  { project, priority, group, at }: Omit<RelayAddress, 'id'>,
  publish: NatsMessage,
): QueueMessage => buildRelayMessage({ project, priority, group, at, id: publish.id }, { at, publish });

/** An event that is a whole message of its protocol, with the subject that everybody on NATS may listen to. */
export const toRelayEventMessage = ({ id, project, at, data }: ParleyEvent): QueueMessage | undefined => {
  if (typeof data.subject !== 'string') return undefined;
  const { subject, payload } = data;
  const message = NatsMessage.parse({ subject, payload, headers: toHeaderStrings(data.headers), id });
  return buildPublishRelay({ project, priority: 'normal', group: subject, at }, message);
};

/** What is absent is left out, and the rest are texts. */
const toHeaderStrings = (headers: unknown): unknown => JSON.parse(JSON.stringify(headers ?? {}));
