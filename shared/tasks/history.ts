import type { Fresh, Item, Ref } from '../ports/records.ts';
import { hasReported, isInHand, type Progress, type Task, type TaskError } from './task.ts';

/**
 * What a later write to the task overwrites: an attempt that did not end it, a progress report, an end that was undone. The
 * record itself tells the rest, so that the usual life of a task needs no entry at all.
 */
export interface HistoryEntry extends Item {
  sk: `history#${number}`;
  version: number;
  /** When the task was made: another one may later have its id. */
  life: number;
  happened: 'attempt' | 'progress' | 'end';
  agent?: string;
  attempt: number;
  claimedAt?: number;
  endedAt?: number;
  status?: Task['status'];
  error?: TaskError;
  progress?: Progress;
}

/** The history is a ring: a newer entry takes the place of the one that many versions before it. */
export const HISTORY_LIMIT = 64;
const KEEP_MS = 30 * 86_400_000;

/** Whether an entry may have been written: a task that went straight through has none. */
export const hasHistory = (task: Task): boolean =>
  task.attempt > 1 || task.entry > 1 || task.seen !== undefined || task.waitsFor !== undefined;

export const historyOf = (before: Task | undefined, after: Task): Fresh<HistoryEntry>[] => {
  if (!before) return [];
  const common: Fresh<HistoryEntry> = {
    pk: after.pk,
    sk: `history#${after.v % HISTORY_LIMIT}`,
    version: after.v,
    life: after.createdAt,
    happened: 'attempt',
    attempt: after.attempt,
    expires: after.at + KEEP_MS,
  };
  if (before.endedAt !== undefined && after.endedAt === undefined) {
    return [
      {
        ...common,
        ...held(before),
        happened: 'end',
        endedAt: before.endedAt,
        status: before.status,
        error: before.error,
      },
    ];
  }
  if (after.status === 'in_progress' && after.progress && hasReported(before, after)) {
    return [{ ...common, ...held(after), happened: 'progress', progress: after.progress }];
  }
  const lost = after.status === 'requested' && (isInHand(before) || after.attempt > before.attempt);
  return lost ? [{ ...common, ...held(before), agent: after.error?.agent, endedAt: after.at, error: after.error }] : [];
};

const held = (task: Task): { agent?: string; claimedAt?: number } => ({
  agent: task.holder,
  claimedAt: task.claimedAt,
});

export const historyRef = (entry: Fresh<HistoryEntry>): Ref<HistoryEntry> => ({ pk: entry.pk, sk: entry.sk });

/** One line of the story of a task. */
export interface Happening {
  at: number;
  event: string;
  agent?: string;
  attempt?: number;
  percent?: number;
  message?: string;
  error?: { code: string; message: string };
}

/** The whole story, oldest first: what the entries keep and what the record still tells. */
export const story = (task: Task, entries: HistoryEntry[]): Happening[] => {
  const lines: Happening[] = [{ at: task.createdAt, event: 'requested', agent: task.from }];
  for (const entry of entries.toSorted((a, b) => a.version - b.version)) {
    if (entry.happened === 'progress') lines.push(progressLine(entry));
    else lines.push(...attemptLines(entry), endLine(entry));
    if (entry.happened === 'end') lines.push({ at: entry.at, event: 'requested', attempt: entry.attempt });
  }
  // The entry for the newest report may still be on its way.
  const isTold = entries.some(({ progress }) => progress?.at === task.progress?.at);
  const { holder: agent, at, attempt, claimedAt, endedAt, status, error } = task;
  if (task.progress && !isTold) lines.push(progressLine({ agent, at, attempt, progress: task.progress }));
  lines.push(...attemptLines({ agent, attempt, claimedAt }));
  if (endedAt !== undefined) lines.push(endLine({ at, happened: 'end', agent, endedAt, status, error, attempt }));
  return lines.toSorted((a, b) => a.at - b.at || (a.attempt ?? 0) - (b.attempt ?? 0) || rank(a) - rank(b));
};

/** Much can happen in one millisecond; within an attempt it happens in this order. */
const rank = ({ event, attempt }: Happening): number => {
  if (event === 'requested') return attempt === undefined ? 0 : 4;
  return event === 'claimed' ? 1 : event === 'progress' ? 2 : 3;
};

const attemptLines = (of: { agent?: string; claimedAt?: number; attempt: number }): Happening[] =>
  of.claimedAt === undefined ? [] : [{ at: of.claimedAt, event: 'claimed', attempt: of.attempt, agent: of.agent }];

const endLine = (
  of: Pick<HistoryEntry, 'at' | 'happened' | 'agent' | 'endedAt' | 'status' | 'error' | 'attempt'>,
): Happening => ({
  at: of.endedAt ?? of.at,
  event: of.happened === 'end' ? (of.status ?? 'ended') : 'released',
  attempt: of.attempt,
  agent: of.agent,
  error: of.error && { code: of.error.code, message: of.error.message },
});

const progressLine = ({
  at,
  agent,
  attempt,
  progress,
}: Pick<HistoryEntry, 'at' | 'agent' | 'attempt' | 'progress'>): Happening => ({
  at: progress?.at ?? at,
  event: 'progress',
  attempt,
  agent,
  percent: progress?.percent,
  message: progress?.message,
});
