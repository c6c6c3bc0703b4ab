import type { Batch } from '../batches/batch.ts';
import type { Broadcast } from '../broadcasts/broadcast.ts';
import type { Outcome } from '../inbox/delivery.ts';
import type { Note } from '../notes/note.ts';
import type { Outgoing, Priority } from '../ports/queues.ts';
import type { Reported, Task } from '../tasks/task.ts';
import type { NatsMessage } from './nats-message.ts';

/** What the relay asks the cloud to be put into words before it publishes it. */
export type Ask =
  | { kind: 'request'; taskId: string; entry: number }
  | { kind: 'report'; task: ReportedOnNats }
  | { kind: 'outcome'; outcome: Outcome }
  | { kind: 'note'; from: string; noteId: string }
  | { kind: 'batch'; batchId: string }
  | { kind: 'broadcast'; broadcastId: string }
  | (Presence & { kind: 'presence' });

export type ReportedOnNats = Omit<Reported, 'seen'>;

export interface Presence {
  agent: string;
  isOnline: boolean;
  at: number;
}

/** What a relay lane carries: a message as it is to be published, or what to ask for one. */
export type Relayed = { at: number } & ({ publish: NatsMessage } | { ask: Ask; id: string });

interface Address {
  project: string;
  priority: Priority;
  /** Whoever reads it gets messages of one group in their order. */
  group: string;
  at: number;
  /** The same for every sending of the same message. */
  id: string;
}

const relayed = ({ project, priority, group, at, id }: Address, body: Relayed): Outgoing => ({
  lane: { project, kind: 'relay', name: 'down', priority },
  group,
  dedup: id,
  at,
  // Absent fields would be null in some engines; a message is JSON once more in each of them.
  body: JSON.parse(JSON.stringify(body)),
});

const asking = (address: Address, ask: Ask): Outgoing => relayed(address, { at: address.at, id: address.id, ask });

const ofTask = ({ project, priority, id, at }: Task): Omit<Address, 'id'> => ({ project, priority, group: id, at });

/** For whoever is to do the task. What is no longer wanted when its turn comes is not published. */
export const relayedRequest = (task: Task): Outgoing =>
  asking(
    { ...ofTask(task), at: task.queuedAt, id: `${task.id}#${task.entry}#${task.resent}` },
    { kind: 'request', taskId: task.id, entry: task.entry },
  );

/** For the requester: what the holder said last. */
export const relayedReport = (task: Task): Outgoing => {
  const { project, id, v, at, status, priority, domain, from, attempt, ttlSeconds, traceparent, tracestate } = task;
  const { holder, claimedAt, claimNote, progress, carried } = task;
  const about = { project, id, v, at, status, priority, domain, from, attempt, ttlSeconds, traceparent, tracestate };
  const reported = { ...about, holder, claimedAt, claimNote, progress, carried };
  return asking({ ...ofTask(task), id: `${task.id}#${task.v}#report` }, { kind: 'report', task: reported });
};

/** For whoever must know how a task ended, what its holder asks or what it was answered. */
export const relayedOutcome = (project: string, outcome: Outcome): Outgoing => {
  const { task, happenedAt, to, id } = outcome;
  const address = { project, priority: task.priority, group: task.id, at: happenedAt };
  return asking({ ...address, id: `${task.id}#${to}#${id}#${outcome.status}` }, { kind: 'outcome', outcome });
};

export const relayedNote = (note: Note): Outgoing => {
  const { project, priority, to, from, id, createdAt } = note;
  return asking(
    { project, priority, group: `agent/${to}`, at: createdAt, id: `note/${from}/${id}` },
    { kind: 'note', from, noteId: id },
  );
};

/** For its requester: how it ended. */
export const relayedBatch = ({ project, id, from, at }: Batch): Outgoing =>
  asking(
    { project, priority: 'normal', group: `agent/${from}`, at, id: `batch/${id}` },
    { kind: 'batch', batchId: id },
  );

/** For everybody on NATS. */
export const relayedPresence = (project: string, agent: string, isOnline: boolean, at: number): Outgoing =>
  asking(
    { project, priority: 'normal', group: `presence/${agent}`, at, id: `presence/${agent}/${at}` },
    { kind: 'presence', agent, isOnline, at },
  );

export const relayedBroadcast = ({ project, id, from, at, command }: Broadcast): Outgoing =>
  asking(
    { project, priority: command.priority, group: `broadcasts/${from}`, at, id: `broadcast/${id}` },
    { kind: 'broadcast', broadcastId: id },
  );

/** A message whose dialect has said already how it is to be published. */
export const relayedAsIs = ({ project, priority, group, at }: Omit<Address, 'id'>, publish: NatsMessage): Outgoing =>
  relayed({ project, priority, group, at, id: publish.id }, { at, publish });
