import { isAgentHealth } from '../agents/agent.ts';
import { computeHealthEffects, onHealthTimer } from '../agents/agent-health.ts';
import { isDomainProviders } from '../agents/domain-providers.ts';
import { isBatch } from '../batches/batch.ts';
import { computeBatchEffects, onBatchTimer } from '../batches/batch-lifecycle.ts';
import { computeBroadcastEffects, isBroadcast } from '../broadcasts/broadcast.ts';
import { onBroadcastTimer } from '../broadcasts/fan-out.ts';
import { isCard } from '../cards/card.ts';
import type { Deps } from '../deps.ts';
import { computeGraphEffects, onGraphTimer } from '../graphs/create-tasks.ts';
import { isGraph } from '../graphs/graph.ts';
import { isDirectMessage } from '../notes/direct-message.ts';
import { onDirectMessageTimer } from '../notes/direct-message-changes.ts';
import { computeDirectMessageEffects } from '../notes/direct-message-effects.ts';
import type { Item, RecordChange } from '../ports/records.ts';
import { computeSequenceEffects, isSequence } from '../sequences/sequence.ts';
import { listOutputContents } from '../tasks/artifacts.ts';
import { listBlobKeys } from '../tasks/content.ts';
import { isTask } from '../tasks/get-task.ts';
import { isFanoutCursor, onFanoutTimer } from '../tasks/link-fanout.ts';
import { onServedTimer } from '../tasks/move-to-capability-queue.ts';
import type { StoredContent, Task } from '../tasks/task.ts';
import { computeTaskEffects } from '../tasks/task-effects.ts';
import { onTaskTimer } from '../tasks/update-task.ts';
import { isAgentState } from '../turns/agent-state.ts';
import {
  computeAgentStateEffects,
  computeBatchCallEffects,
  computeTaskTurnEffects,
  computeTurnEffects,
} from '../turns/compute-effects.ts';
import { isTurn } from '../turns/turn.ts';
import { computeUiActionEffects, isUiAction } from '../turns/ui-action.ts';
import { computeWakeupEffects, isWakeupRecord } from '../turns/wakeups.ts';
import { onAgentStateTimer, onTurnTimer } from '../turns/watchdog.ts';
import { computeViolationEffects, isViolation } from '../violations/violation.ts';
import type { Effect } from './effect.ts';

/** Records whose changes have effects, or to which time does something. */
interface RecordKind<T extends Item> {
  is: (item: Item) => item is T;
  effects: (change: RecordChange<T>) => Effect[];
  /** What follows from them for turns. */
  turnEffects?: (change: RecordChange<T>) => Effect[];
  /** What of it may stand in blobs, which belong to it alone and go with it. */
  contents?: (record: T) => (StoredContent | undefined)[];
  /** Its due time has come. Whatever it writes is refused if somebody wrote in between; if it is then still due, it comes again. */
  due?: (deps: Deps, record: T) => Promise<void>;
}

interface AnyRecordKind {
  is: (item: Item) => boolean;
  effects: (change: RecordChange) => Effect[];
  due: (deps: Deps, record: Item) => Promise<void>;
}

const defineRecordKind = <T extends Item>({
  is,
  effects,
  turnEffects,
  contents,
  due,
}: RecordKind<T>): AnyRecordKind => {
  const only = (item: Item | undefined): T | undefined => (item && is(item) ? item : undefined);
  return {
    is,
    effects: ({ before, after }) => {
      const change = { before: only(before), after: only(after) };
      return [
        ...effects(change),
        ...(turnEffects?.(change) ?? []),
        ...(contents ? computeBlobEffects(contents, change) : []),
      ];
    },
    due: async (deps, record) => {
      if (is(record)) await due?.(deps, record);
    },
  };
};

const computeBlobEffects = <T>(
  contents: (record: T) => (StoredContent | undefined)[],
  { before, after }: { before?: T; after?: T },
): Effect[] => {
  const namedBy = (record: T | undefined): string[] => listBlobKeys(record ? contents(record) : []);
  const [old, current] = [namedBy(before), namedBy(after)];
  return [
    ...current.filter((blob) => !old.includes(blob)).map((blob): Effect => ({ kind: 'own', blob })),
    ...old.filter((blob) => !current.includes(blob)).map((blob): Effect => ({ kind: 'forget', blob })),
  ];
};

const listTaskContents = (task: Task) => [task.input, ...listOutputContents(task)];

const RECORD_KINDS: readonly AnyRecordKind[] = [
  defineRecordKind({
    is: isTask,
    effects: computeTaskEffects,
    turnEffects: computeTaskTurnEffects,
    contents: listTaskContents,
    due: onTaskTimer,
  }),
  defineRecordKind({
    is: isBatch,
    effects: computeBatchEffects,
    turnEffects: computeBatchCallEffects,
    contents: ({ seeds, forks }) => [seeds, forks],
    due: onBatchTimer,
  }),
  defineRecordKind({ is: isGraph, effects: computeGraphEffects, contents: ({ seeds }) => [seeds], due: onGraphTimer }),
  defineRecordKind({
    is: isDirectMessage,
    effects: computeDirectMessageEffects,
    contents: ({ content }) => [content],
    due: onDirectMessageTimer,
  }),
  defineRecordKind({ is: isAgentHealth, effects: computeHealthEffects, due: onHealthTimer }),
  defineRecordKind({ is: isCard, effects: () => [], contents: ({ content }) => [content] }),
  defineRecordKind({ is: isSequence, effects: computeSequenceEffects }),
  defineRecordKind({ is: isAgentState, effects: computeAgentStateEffects, due: onAgentStateTimer }),
  defineRecordKind({ is: isTurn, effects: computeTurnEffects, due: onTurnTimer }),
  defineRecordKind({ is: isUiAction, effects: computeUiActionEffects }),
  defineRecordKind({ is: isWakeupRecord, effects: computeWakeupEffects }),
  defineRecordKind({ is: isBroadcast, effects: computeBroadcastEffects, due: onBroadcastTimer }),
  defineRecordKind({ is: isViolation, effects: computeViolationEffects }),
  defineRecordKind({ is: isDomainProviders, effects: () => [], due: onServedTimer }),
  defineRecordKind({ is: isFanoutCursor, effects: () => [], due: onFanoutTimer }),
];

export const getRecordKind = (item: Item): AnyRecordKind => {
  const found = RECORD_KINDS.find(({ is }) => is(item));
  if (found) return found;
  throw new Error(`nothing is known about records such as ${item.pk} ${item.sk}`);
};
