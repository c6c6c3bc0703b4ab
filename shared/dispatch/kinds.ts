import { isHealth } from '../agents/agent.ts';
import { healthEffects, onHealthDue } from '../agents/health.ts';
import { isBatch } from '../batches/batch.ts';
import { batchEffects, onBatchDue } from '../batches/batch-changes.ts';
import { broadcastEffects, isBroadcast } from '../broadcasts/broadcast.ts';
import { onBroadcastDue } from '../broadcasts/fan-out.ts';
import { isCard } from '../cards/card.ts';
import type { Deps } from '../deps.ts';
import { isGraph } from '../graphs/graph.ts';
import { graphEffects, onGraphDue } from '../graphs/grow-graph.ts';
import { isNote } from '../notes/note.ts';
import { onNoteDue } from '../notes/note-changes.ts';
import { noteEffects } from '../notes/note-effects.ts';
import type { Item, RecordChange } from '../ports/records.ts';
import { isSequence, sequenceEffects } from '../sequences/sequence.ts';
import { contentsOf } from '../tasks/artifacts.ts';
import { onTaskDue } from '../tasks/change-task.ts';
import { blobsOf } from '../tasks/content.ts';
import { effectsOf } from '../tasks/effects.ts';
import { isTask } from '../tasks/look-up.ts';
import type { Content, Task } from '../tasks/task.ts';
import { isWalk, onWalkDue } from '../tasks/walk.ts';
import { bellEffects, isBell } from '../turns/bells.ts';
import { batchCallEffects, headEffects, taskTurnEffects, turnEffects } from '../turns/effects.ts';
import { isHead } from '../turns/head.ts';
import { isTurn } from '../turns/turn.ts';
import { isUiAction, uiActionEffects } from '../turns/ui-action.ts';
import { onHeadDue, onTurnDue } from '../turns/watchdog.ts';
import { isViolation, violationEffects } from '../violations/violation.ts';
import type { Effect } from './effect.ts';

/** Records whose changes have effects, or to which time does something. */
interface Kind<T extends Item> {
  is: (item: Item) => item is T;
  effects: (change: RecordChange<T>) => Effect[];
  /** What follows from them for turns. */
  turnEffects?: (change: RecordChange<T>) => Effect[];
  /** What of it may stand in blobs, which belong to it alone and go with it. */
  contents?: (record: T) => (Content | undefined)[];
  /** Its due time has come. Whatever it writes is refused if somebody wrote in between; if it is then still due, it comes again. */
  due?: (deps: Deps, record: T) => Promise<void>;
}

interface AnyKind {
  is: (item: Item) => boolean;
  effects: (change: RecordChange) => Effect[];
  due: (deps: Deps, record: Item) => Promise<void>;
}

const kind = <T extends Item>({ is, effects, turnEffects, contents, due }: Kind<T>): AnyKind => {
  const only = (item: Item | undefined): T | undefined => (item && is(item) ? item : undefined);
  return {
    is,
    effects: ({ before, after }) => {
      const change = { before: only(before), after: only(after) };
      return [...effects(change), ...(turnEffects?.(change) ?? []), ...(contents ? blobEffects(contents, change) : [])];
    },
    due: async (deps, record) => {
      if (is(record)) await due?.(deps, record);
    },
  };
};

const blobEffects = <T>(
  contents: (record: T) => (Content | undefined)[],
  { before, after }: { before?: T; after?: T },
): Effect[] => {
  const namedBy = (record: T | undefined): string[] => blobsOf(record ? contents(record) : []);
  const [old, current] = [namedBy(before), namedBy(after)];
  return [
    ...current.filter((blob) => !old.includes(blob)).map((blob): Effect => ({ kind: 'own', blob })),
    ...old.filter((blob) => !current.includes(blob)).map((blob): Effect => ({ kind: 'forget', blob })),
  ];
};

const taskContents = (task: Task) => [task.input, ...contentsOf(task)];

const KINDS: readonly AnyKind[] = [
  kind({ is: isTask, effects: effectsOf, turnEffects: taskTurnEffects, contents: taskContents, due: onTaskDue }),
  kind({
    is: isBatch,
    effects: batchEffects,
    turnEffects: batchCallEffects,
    contents: ({ seeds, forks }) => [seeds, forks],
    due: onBatchDue,
  }),
  kind({ is: isGraph, effects: graphEffects, contents: ({ seeds }) => [seeds], due: onGraphDue }),
  kind({ is: isNote, effects: noteEffects, contents: ({ content }) => [content], due: onNoteDue }),
  kind({ is: isHealth, effects: healthEffects, due: onHealthDue }),
  kind({ is: isCard, effects: () => [], contents: ({ content }) => [content] }),
  kind({ is: isSequence, effects: sequenceEffects }),
  kind({ is: isHead, effects: headEffects, due: onHeadDue }),
  kind({ is: isTurn, effects: turnEffects, due: onTurnDue }),
  kind({ is: isUiAction, effects: uiActionEffects }),
  kind({ is: isBell, effects: bellEffects }),
  kind({ is: isBroadcast, effects: broadcastEffects, due: onBroadcastDue }),
  kind({ is: isViolation, effects: violationEffects }),
  kind({ is: isWalk, effects: () => [], due: onWalkDue }),
];

export const kindOf = (item: Item): AnyKind => {
  const found = KINDS.find(({ is }) => is(item));
  if (found) return found;
  throw new Error(`nothing is known about records such as ${item.pk} ${item.sk}`);
};
