import { isCard } from '../cards/card.ts';
import { isAgentHealth } from '../identity/agents/agent.ts';
import { onHealthTimer } from '../identity/agents/agent-health.ts';
import { isDomainProviders } from '../identity/agents/domain-providers.ts';
import type { Deps } from '../identity/deps.ts';
import { computeBroadcastEffects } from '../messaging/broadcasts/broadcast-effects.ts';
import { onBroadcastTimer } from '../messaging/broadcasts/fan-out.ts';
import { onDirectMessageTimer } from '../messaging/direct-messages/direct-message-changes.ts';
import { computeDirectMessageEffects } from '../messaging/direct-messages/direct-message-effects.ts';
import { computeSequenceEffects, isSequence } from '../messaging/sequences/sequence.ts';
import { computeViolationEffects } from '../messaging/violations/violation.ts';
import { isAgentState } from '../model/agent-state.ts';
import { isBatch } from '../model/batch.ts';
import { isBroadcast } from '../model/broadcast.ts';
import { isDirectMessage } from '../model/direct-message.ts';
import type { Effect } from '../model/effect.ts';
import { isGraph } from '../model/graph.ts';
import type { Task } from '../model/task.ts';
import { isTurn } from '../model/turn.ts';
import { isUiAction } from '../model/ui-action.ts';
import { isViolation } from '../model/violation.ts';
import type { Item, RecordChange } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';
import { listBlobKeys } from '../storage/content.ts';
import { listOutputContents } from '../tasks/artifacts.ts';
import { onServedTimer } from '../tasks/commands/move-to-capability-queue.ts';
import { onTaskTimer } from '../tasks/commands/update-task.ts';
import { isFanoutCursor, onFanoutTimer } from '../tasks/dependencies/link-fanout.ts';
import { isTask } from '../tasks/queries/get-task.ts';
import {
  computeAgentStateEffects,
  computeBatchCallEffects,
  computeTaskTurnEffects,
  computeTurnEffects,
} from '../turns/lifecycle/compute-effects.ts';
import { onAgentStateTimer, onTurnTimer } from '../turns/lifecycle/watchdog.ts';
import { computeUiActionEffects } from '../turns/ui-actions/ui-action.ts';
import { computeWakeupEffects, isWakeupRecord } from '../turns/wakeups/wakeups.ts';
import { computeBatchEffects, onBatchTimer } from '../workflows/batches/batch-lifecycle.ts';
import { computeGraphEffects, onGraphTimer } from '../workflows/graphs/create-tasks.ts';
import { computeHealthEffects } from './agent-health-effects.ts';
import { computeTaskEffects } from './task-effects.ts';

/** Records whose changes have effects, or to which time does something. */
interface RecordKind<T extends Item> {
  is: (item: Item) => item is T;
  effects: (change: RecordChange<T>) => Effect[];
  /** What follows from them for turns. */
  turnEffects?: (change: RecordChange<T>) => Effect[];
  /** What of it may stand in blobs, which belong to it alone and go with it. */
  contents?: (record: T) => (StoredContent | undefined)[];
  /** Its due time has come. Whatever it writes is refused if somebody wrote in between; if it is then still due, it comes again. */
  onTimer?: (deps: Deps, record: T) => Promise<void>;
}

interface AnyRecordKind {
  is: (item: Item) => boolean;
  effects: (change: RecordChange) => Effect[];
  onTimer: (deps: Deps, record: Item) => Promise<void>;
}

const defineRecordKind = <T extends Item>({
  is,
  effects,
  turnEffects,
  contents,
  onTimer,
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
    onTimer: async (deps, record) => {
      if (is(record)) await onTimer?.(deps, record);
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
    ...current.filter((blob) => !old.includes(blob)).map((blob): Effect => ({ kind: 'retain', blob })),
    ...old.filter((blob) => !current.includes(blob)).map((blob): Effect => ({ kind: 'release', blob })),
  ];
};

const listTaskContents = (task: Task) => [task.input, ...listOutputContents(task)];

const RECORD_KINDS: readonly AnyRecordKind[] = [
  defineRecordKind({
    is: isTask,
    effects: computeTaskEffects,
    turnEffects: computeTaskTurnEffects,
    contents: listTaskContents,
    onTimer: onTaskTimer,
  }),
  defineRecordKind({
    is: isBatch,
    effects: computeBatchEffects,
    turnEffects: computeBatchCallEffects,
    contents: ({ pendingRequests, pendingTurns }) => [pendingRequests, pendingTurns],
    onTimer: onBatchTimer,
  }),
  defineRecordKind({
    is: isGraph,
    effects: computeGraphEffects,
    contents: ({ pendingRequests }) => [pendingRequests],
    onTimer: onGraphTimer,
  }),
  defineRecordKind({
    is: isDirectMessage,
    effects: computeDirectMessageEffects,
    contents: ({ content }) => [content],
    onTimer: onDirectMessageTimer,
  }),
  defineRecordKind({ is: isAgentHealth, effects: computeHealthEffects, onTimer: onHealthTimer }),
  defineRecordKind({ is: isCard, effects: () => [], contents: ({ content }) => [content] }),
  defineRecordKind({ is: isSequence, effects: computeSequenceEffects }),
  defineRecordKind({ is: isAgentState, effects: computeAgentStateEffects, onTimer: onAgentStateTimer }),
  defineRecordKind({ is: isTurn, effects: computeTurnEffects, onTimer: onTurnTimer }),
  defineRecordKind({ is: isUiAction, effects: computeUiActionEffects }),
  defineRecordKind({ is: isWakeupRecord, effects: computeWakeupEffects }),
  defineRecordKind({ is: isBroadcast, effects: computeBroadcastEffects, onTimer: onBroadcastTimer }),
  defineRecordKind({ is: isViolation, effects: computeViolationEffects }),
  defineRecordKind({ is: isDomainProviders, effects: () => [], onTimer: onServedTimer }),
  defineRecordKind({ is: isFanoutCursor, effects: () => [], onTimer: onFanoutTimer }),
];

export const getRecordKind = (item: Item): AnyRecordKind => {
  const found = RECORD_KINDS.find(({ is }) => is(item));
  if (found) return found;
  throw new Error(`nothing is known about records such as ${item.pk} ${item.sk}`);
};
