import { onAgentCallerTimer, onAgentCallTimer } from '../adapters/called-agents.ts';
import { onHealthTimer } from '../identity/agents/agent-health.ts';
import type { Deps } from '../identity/deps.ts';
import { computeBroadcastEffects, onBroadcastTimer } from '../messaging/broadcasts/fan-out.ts';
import { onDirectMessageTimer } from '../messaging/direct-messages/direct-message-changes.ts';
import { computeDirectMessageEffects } from '../messaging/direct-messages/direct-message-effects.ts';
import { computeRejectionEffects } from '../messaging/rejections/rejected-message.ts';
import { computeSequenceEffects } from '../messaging/sequences/sequence.ts';
import { computeViolationEffects } from '../messaging/violations/violation.ts';
import type { Effect } from '../model/effect.ts';
import type { Item, RecordChange } from '../ports/records.ts';
import { listBlobKeys, type StoredContent } from '../storage/content.ts';
import { onServedTimer } from '../tasks/commands/move-to-capability-queue.ts';
import { onTaskTimer } from '../tasks/commands/task-timer.ts';
import { onFanoutTimer } from '../tasks/dependencies/link-fanout.ts';
import { onLimitTimer } from '../tasks/limits/start-waiting.ts';
import { listOutputContents } from '../tasks/output-contents.ts';
import {
  computeAgentStateEffects,
  computeBatchCallEffects,
  computeTurnEffects,
} from '../turns/lifecycle/compute-effects.ts';
import { onAgentStateTimer, onTurnTimer } from '../turns/lifecycle/watchdog.ts';
import { computeTaskTurnEffects } from '../turns/task-bridge/compute-task-turn-effects.ts';
import { computeUiActionEffects } from '../turns/ui-actions/ui-action.ts';
import { computeWakeupEffects } from '../turns/wakeups/wakeups.ts';
import { onOutboxTimer } from '../webhooks/deliver.ts';
import { computeBatchEffects, onBatchTimer } from '../workflows/batches/batch-lifecycle.ts';
import { computeGraphEffects, onGraphTimer } from '../workflows/graphs/create-tasks.ts';
import { computeOperationEffects, onOperationTimer } from '../workflows/operations/run-operation.ts';
import { onScheduleTimer } from '../workflows/schedules/run-schedule.ts';
import { computeHealthEffects } from './agent-health-effects.ts';
import { computeQueuePauseEffects } from './queue-pause-effects.ts';
import type { ChangeFeedKind, RecordOf } from './record-definitions.ts';
import { computeTaskEffects } from './task-effects.ts';

interface RecordHandlers<T extends Item> {
  effects?(change: RecordChange<T>): Effect[];
  /** Contents that may be blobs. They belong to this record alone and are deleted with it. */
  contents?(record: T): (StoredContent | undefined)[];
  /** Writes are conditional on the version. If the record is still due then, the timer fires again. */
  onTimer?(deps: Deps, record: T): Promise<void>;
}

const HANDLERS: { [K in ChangeFeedKind]: RecordHandlers<RecordOf<K>> } = {
  task: {
    effects: (change) => [...computeTaskEffects(change), ...computeTaskTurnEffects(change)],
    contents: (task) => [task.input, ...listOutputContents(task), ...Object.values(task.steps ?? {})],
    onTimer: onTaskTimer,
  },
  batch: {
    effects: (change) => [...computeBatchEffects(change), ...computeBatchCallEffects(change)],
    contents: ({ pendingRequests, pendingTurns }) => [pendingRequests, pendingTurns],
    onTimer: onBatchTimer,
  },
  graph: {
    effects: computeGraphEffects,
    contents: ({ pendingRequests }) => [pendingRequests],
    onTimer: onGraphTimer,
  },
  operation: { effects: computeOperationEffects, onTimer: onOperationTimer },
  schedule: { onTimer: onScheduleTimer },
  'direct-message': {
    effects: computeDirectMessageEffects,
    contents: ({ content }) => [content],
    onTimer: onDirectMessageTimer,
  },
  health: { effects: computeHealthEffects, onTimer: onHealthTimer },
  card: { contents: ({ content }) => [content] },
  sequence: { effects: computeSequenceEffects },
  head: { effects: computeAgentStateEffects, onTimer: onAgentStateTimer },
  turn: { effects: computeTurnEffects, onTimer: onTurnTimer },
  'ui-action': { effects: computeUiActionEffects },
  wakeup: { effects: computeWakeupEffects },
  broadcast: { effects: computeBroadcastEffects, onTimer: onBroadcastTimer },
  violation: { effects: computeViolationEffects },
  'rejected-message': { effects: computeRejectionEffects },
  'domain-providers': { onTimer: onServedTimer },
  'queue-pauses': { effects: computeQueuePauseEffects },
  limit: { onTimer: onLimitTimer },
  fanout: { onTimer: onFanoutTimer },
  outbox: { onTimer: onOutboxTimer },
  'agent-caller': { onTimer: onAgentCallerTimer },
  'agent-call': { onTimer: onAgentCallTimer },
};

const HANDLERS_BY_KIND: ReadonlyMap<string, RecordHandlers<Item>> = new Map(Object.entries(HANDLERS));

const getHandlers = ({ pk, sk }: Item): RecordHandlers<Item> => {
  const handlers = HANDLERS_BY_KIND.get(sk);
  if (handlers) return handlers;
  throw new Error(`nothing is known about records such as ${pk} ${sk}`);
};

export const computeEffects = (change: RecordChange): Effect[] => {
  const record = change.after ?? change.before;
  if (!record) return [];
  const { effects, contents } = getHandlers(record);
  const found = effects?.(change) ?? [];
  return contents ? [...found, ...computeBlobEffects(contents, change)] : found;
};

export const onTimer = async (deps: Deps, record: Item): Promise<void> => getHandlers(record).onTimer?.(deps, record);

const computeBlobEffects = (
  contents: (record: Item) => (StoredContent | undefined)[],
  { before, after }: RecordChange,
): Effect[] => {
  const listOwned = (record: Item | undefined): string[] => listBlobKeys(record ? contents(record) : []);
  const [old, current] = [listOwned(before), listOwned(after)];
  if (old.length === 0 && current.length === 0) return [];
  return [
    ...current.filter((blob) => !old.includes(blob)).map((blob): Effect => ({ kind: 'retain', blob })),
    ...old.filter((blob) => !current.includes(blob)).map((blob): Effect => ({ kind: 'release', blob })),
  ];
};
