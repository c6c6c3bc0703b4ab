import type { Box } from '../cards/box.ts';
import type { Card } from '../cards/card.ts';
import type { Consumer } from '../events/consumer.ts';
import type { Agent, AgentHealth, AgentSecret, RemovedAgent } from '../identity/agents/agent.ts';
import type { DomainProviders } from '../identity/agents/domain-providers.ts';
import type { ApiKey } from '../identity/auth/api-key.ts';
import type { StoredLimitRules } from '../identity/limit-rules.ts';
import type { ProjectSecret } from '../identity/project-secret.ts';
import type { Project } from '../identity/projects.ts';
import type { QueuePauses } from '../identity/queue-pauses.ts';
import type { Tool } from '../identity/tools/tool.ts';
import type { KeyedCall } from '../ingest/idempotency-key.ts';
import type { InboxDepth, InboxSlot } from '../messaging/inbox/bounded-inbox.ts';
import type { Sequence } from '../messaging/sequences/sequence.ts';
import type { AgentCall, AgentCaller, AgentCallSecret } from '../model/agent-call.ts';
import type { AgentState } from '../model/agent-state.ts';
import type { Batch } from '../model/batch.ts';
import type { Broadcast } from '../model/broadcast.ts';
import type { CardKey } from '../model/card-key.ts';
import type { CorrelationRecord } from '../model/correlation.ts';
import type { Delivery } from '../model/delivery.ts';
import type { DirectMessage } from '../model/direct-message.ts';
import type { Graph } from '../model/graph.ts';
import type { HistoryEntry } from '../model/history.ts';
import type { Limit } from '../model/limit.ts';
import type { Operation } from '../model/operation.ts';
import type { RejectedMessage } from '../model/rejected-message.ts';
import type { TaskSchedule } from '../model/schedule.ts';
import type { Task } from '../model/task.ts';
import type { TaskListing } from '../model/task-listing.ts';
import type { QueuedTurn, StoredStep, Turn } from '../model/turn.ts';
import type { UiAction } from '../model/ui-action.ts';
import type { Violation } from '../model/violation.ts';
import type { Outbox, PushConfig, Webhook, WebhookAttempt } from '../model/webhook.ts';
import type { ListedFields } from '../ports/lists.ts';
import { type RecordMigration, renameField } from '../ports/record-migration.ts';
import type { Item } from '../ports/records.ts';
import type { StatisticsChunk, StatisticsCursor } from '../statistics/statistics-chunk.ts';
import type { ClaimReceipt } from '../tasks/commands/claim-once.ts';
import type { IdempotencyRecord } from '../tasks/commands/deduplicate.ts';
import type { FanoutCursor, TaskLink } from '../tasks/dependencies/link-fanout.ts';
import type { Alias } from '../tasks/ids/aliases.ts';
import type { UiMessageAlias } from '../turns/ui-actions/ui-action.ts';
import type { WakeupRecord } from '../turns/wakeups/wakeups.ts';

type Field<T extends Item> = Exclude<keyof T, keyof Item> & string;
/** Objects and lists have no fixed size. */
type StructuredField<T extends Item> = {
  [K in Field<T>]-?: NonNullable<T[K]> extends string | number | boolean ? never : K;
}[Field<T>];

type Awaited = true | ((record: object) => boolean);

interface RecordDefinition<T extends Item, Feed extends boolean> {
  readonly type?: T;
  readonly inChangeFeed: Feed;
  readonly awaited?: Awaited | undefined;
  readonly immutable: readonly string[];
  readonly compressed: readonly string[];
  readonly listed?: Readonly<Record<string, string>>;
  readonly migration?: RecordMigration;
}

interface RecordOptions<Feed, Immutable, Compressed, Plain> {
  /** Its changes have effects, or its timer is precise: it has a row in `record-handlers.ts`. */
  inChangeFeed?: Feed;
  /** Somebody waits for what follows from its changes: for all records of the kind, or for those created so. */
  awaited?: Awaited;
  /**
   * Stored as one compressed list, by position: append only. No condition may name such a field, and no change may
   * unset it.
   */
  immutable?: readonly Immutable[];
  /** Stored one by one, compressed if smaller. No condition or path may reach into them. */
  compressed?: readonly Compressed[];
  /** Small, or used by conditions and paths. */
  plain?: readonly Plain[];
  /** The fields that never change among those by which it is listed. */
  listed?: Readonly<Partial<Record<keyof ListedFields, string>>>;
  /** From the forms that earlier code stored. A condition that names one of its fields names both. */
  migration?: RecordMigration;
}

/** A structured field must be in one of the three lists: DynamoDB bills every write by the size of the whole item. */
export const defineRecord =
  <T extends Item>() =>
  <
    const Feed extends boolean = false,
    const Immutable extends Field<T> = never,
    const Compressed extends Exclude<Field<T>, Immutable> = never,
    const Plain extends StructuredField<T> = never,
  >(
    options: RecordOptions<Feed, Immutable, Compressed, Plain> &
      ([Exclude<StructuredField<T>, Immutable | Compressed | Plain>] extends [never]
        ? unknown
        : { fieldInNoList: Exclude<StructuredField<T>, Immutable | Compressed | Plain> }),
  ): RecordDefinition<T, Feed> => {
    const { inChangeFeed = false as Feed, awaited, immutable = [], compressed = [], listed, migration } = options;
    return { inChangeFeed, awaited, immutable, compressed, listed, migration };
  };

/**
 * Others wait for its end, it is carried to or from NATS, or it does the work of a turn or a call. Only fields of its creation: the
 * changes of a record stay in one order.
 */
const isAwaitedTask = (task: object & Partial<Task>): boolean =>
  task.dependencyIds !== undefined ||
  task.batchMembership !== undefined ||
  task.graph !== undefined ||
  task.deliveryTarget !== undefined ||
  task.fromNats !== undefined ||
  Object.values(task.extensions ?? {}).some((said) => said instanceof Object && ('call' in said || 'turn' in said));

const isForNats = (message: object & Partial<DirectMessage>): boolean => message.deliveryTarget !== undefined;

const CORRELATION = defineRecord<CorrelationRecord>()({ immutable: ['correlation', 'fingerprint', 'traceparent'] });

const TURN_REQUEST = [
  'correlation',
  'channel',
  'from',
  'createdAt',
  'traceparent',
  'tracestate',
  'payload',
  'contextBox',
  'headers',
  'callers',
  'baggage',
] as const;

/**
 * Every kind of record, by its sort key up to the first `#`. The dispatcher, the filter of the stream and the storage
 * schema follow from it. It imports only types and the port, so any bundle can contain it.
 */
export const RECORDS = {
  task: defineRecord<Task>()({
    inChangeFeed: true,
    awaited: isAwaitedTask,
    listed: { type: 'capability', requester: 'from', domain: 'domain', conversation: 'conversation' },
    immutable: [
      'project',
      'id',
      'dialect',
      'priority',
      'from',
      'capability',
      'parent',
      'createdAt',
      'queuedAt',
      'ttlSeconds',
      'maxAttempts',
      'input',
      'extensions',
      'fingerprint',
      'traceparent',
      'tracestate',
      'auditEntry',
      'requestId',
      'delegationChain',
      'retry',
      'dependencyIds',
      'onFailure',
      'batchMembership',
      'conversation',
      'acknowledgeBy',
      'deliveryTarget',
      'fromNats',
      'fromInstance',
      'graph',
      'requesterLogDialect',
      'user',
      'baggage',
      'reportsToInbox',
      'requestedAs',
      'rerunOf',
      'parentSpan',
      'limits',
      'turnAt',
    ],
    compressed: [
      'output',
      'artifacts',
      'outcomeExtensions',
      'outcomeAuditEntry',
      'progress',
      'error',
      'claimNote',
      'prompt',
      'answer',
      'failures',
      'lastAnswer',
    ],
    plain: ['declinedBy', 'claimMessage', 'endMessage', 'processedMessages', 'steps', 'reportedAs', 'places'],
  }),
  history: defineRecord<HistoryEntry>()({
    compressed: ['error', 'progress', 'question', 'lastAnswer', 'answer'],
    migration: renameField('cycle', 'taskCreatedAt'),
  }),
  listing: defineRecord<TaskListing>()({
    immutable: ['project', 'id', 'taskCreatedAt', 'requester', 'address', 'conversation'],
  }),
  fanout: defineRecord<FanoutCursor>()({
    inChangeFeed: true,
    awaited: true,
    immutable: ['project'],
    plain: ['change'],
  }),
  child: defineRecord<TaskLink>()({}),
  dependent: defineRecord<TaskLink>()({}),
  claim: defineRecord<ClaimReceipt>()({ plain: ['taskIds'] }),
  alias: defineRecord<Alias>()({}),
  idempotency: defineRecord<IdempotencyRecord>()({}),
  'keyed-call': defineRecord<KeyedCall>()({ compressed: ['response'] }),
  minute: defineRecord<Item>()({}),
  batch: defineRecord<Batch>()({
    inChangeFeed: true,
    awaited: true,
    listed: { requester: 'from' },
    immutable: [
      'project',
      'id',
      'from',
      'createdAt',
      'fingerprint',
      'traceparent',
      'tracestate',
      'deliveryTarget',
      'requesterLogDialect',
      'baggage',
    ],
    compressed: ['items', 'pendingRequests', 'pendingTurns'],
    plain: ['openItems', 'itemEnds', 'call'],
  }),
  graph: defineRecord<Graph>()({
    inChangeFeed: true,
    awaited: true,
    listed: { requester: 'from', conversation: 'conversation' },
    immutable: [
      'project',
      'id',
      'from',
      'createdAt',
      'fingerprint',
      'traceparent',
      'tracestate',
      'conversation',
      'baggage',
    ],
    compressed: ['nodes', 'pendingRequests', 'rejected'],
    plain: ['end'],
  }),
  operation: defineRecord<Operation>()({
    inChangeFeed: true,
    awaited: true,
    listed: { type: 'kind', requester: 'requester' },
    immutable: ['project', 'id', 'filter', 'by', 'reason', 'expected', 'createdAt'],
    compressed: ['page', 'failures'],
  }),
  schedule: defineRecord<TaskSchedule>()({
    inChangeFeed: true,
    listed: { requester: 'from' },
    immutable: ['project', 'id', 'from', 'createdAt'],
    compressed: ['task', 'command'],
    plain: ['lastError'],
  }),
  agent: defineRecord<Agent>()({
    immutable: ['project', 'id', 'dialect'],
    compressed: ['capabilities', 'domains', 'manifest', 'schemas', 'agentCard'],
    plain: ['versions', 'limits', 'channels'],
  }),
  health: defineRecord<AgentHealth>()({
    inChangeFeed: true,
    immutable: ['project'],
    compressed: ['capabilities'],
    plain: ['lastHeartbeat', 'statusReport', 'pause'],
  }),
  calls: defineRecord<Item>()({}),
  key: defineRecord<ApiKey>()({ immutable: ['project', 'name', 'agent'], plain: ['previous'] }),
  'agent-secret': defineRecord<AgentSecret>()({}),
  'agent-tombstone': defineRecord<RemovedAgent>()({}),
  'agent-caller': defineRecord<AgentCaller>()({ inChangeFeed: true, awaited: true, immutable: ['project', 'agent'] }),
  'agent-call': defineRecord<AgentCall>()({ inChangeFeed: true, awaited: true, immutable: ['project', 'taskId'] }),
  'agent-call-secret': defineRecord<AgentCallSecret>()({}),
  webhook: defineRecord<Webhook>()({ immutable: ['project', 'id', 'createdAt'], plain: ['types'] }),
  'webhook-attempt': defineRecord<WebhookAttempt>()({}),
  'push-config': defineRecord<PushConfig>()({ immutable: ['project', 'id', 'taskId'], plain: ['authentication'] }),
  outbox: defineRecord<Outbox>()({
    inChangeFeed: true,
    awaited: true,
    immutable: ['project', 'subject', 'target'],
    compressed: ['pending', 'sent'],
  }),
  'project-secret': defineRecord<ProjectSecret>()({}),
  project: defineRecord<Project>()({ immutable: ['name', 'createdAt'], compressed: ['domains'] }),
  'card-key': defineRecord<CardKey>()({}),
  'domain-providers': defineRecord<DomainProviders>()({
    inChangeFeed: true,
    immutable: ['project'],
    plain: ['byCapability', 'byProfile', 'declaredAt'],
  }),
  'queue-pauses': defineRecord<QueuePauses>()({ inChangeFeed: true, immutable: ['project'], plain: ['paused'] }),
  'limit-rules': defineRecord<StoredLimitRules>()({ immutable: ['project'], plain: ['rules'] }),
  // Its timer is precise.
  limit: defineRecord<Limit>()({ inChangeFeed: true, immutable: ['project', 'key'], compressed: ['places', 'starts'] }),
  tool: defineRecord<Tool>()({ immutable: ['project'], compressed: ['parameters', 'options'] }),
  consumer: defineRecord<Consumer>()({ plain: ['inFlight'] }),
  card: defineRecord<Card>()({
    inChangeFeed: true,
    immutable: ['project', 'id', 'from', 'createdAt', 'type', 'content'],
  }),
  box: defineRecord<Box>()({ immutable: ['project', 'id', 'from', 'createdAt'], compressed: ['cards'] }),
  'direct-message': defineRecord<DirectMessage>()({
    inChangeFeed: true,
    awaited: isForNats,
    immutable: [
      'project',
      'id',
      'dialect',
      'priority',
      'from',
      'createdAt',
      'ttlSeconds',
      'extensions',
      'fingerprint',
      'traceparent',
      'tracestate',
      'auditEntry',
      'type',
      'correlation',
      'content',
      'acknowledgeBy',
      'inboxSlot',
      'deliveryTarget',
      'toInstance',
      'baggage',
      'taskId',
    ],
  }),
  delivery: defineRecord<Delivery>()({ immutable: ['project'], compressed: ['outcome'], plain: ['delegation'] }),
  '#depth': defineRecord<InboxDepth>()({}),
  at: defineRecord<InboxSlot>()({ immutable: ['id', 'from'] }),
  broadcast: defineRecord<Broadcast>()({
    inChangeFeed: true,
    awaited: true,
    immutable: ['project', 'id', 'dialect', 'from', 'createdAt', 'fingerprint', 'traceparent', 'tracestate', 'baggage'],
    compressed: ['command'],
  }),
  sequence: defineRecord<Sequence>()({
    inChangeFeed: true,
    immutable: ['project', 'from'],
    plain: ['missing', 'lastAnomaly'],
  }),
  violation: defineRecord<Violation>()({ inChangeFeed: true, immutable: ['project', 'id', 'dialect', 'auditEntry'] }),
  'rejected-message': defineRecord<RejectedMessage>()({
    inChangeFeed: true,
    immutable: ['project', 'from', 'to', 'code', 'auditEntry'],
  }),
  head: defineRecord<AgentState>()({
    inChangeFeed: true,
    awaited: true,
    immutable: ['project'],
    plain: ['active', 'step', 'waiting', 'waitingSteps', 'calledServices', 'reports', 'deadlines', 'last'],
  }),
  turn: defineRecord<Turn>()({
    inChangeFeed: true,
    awaited: true,
    listed: { requester: 'from', conversation: 'channel' },
    immutable: ['project', 'id', 'parent', 'fingerprint', 'batchMembership', ...TURN_REQUEST, 'parentSpan'],
    plain: ['end'],
  }),
  queued: defineRecord<QueuedTurn>()({ immutable: TURN_REQUEST }),
  step: defineRecord<StoredStep>()({ plain: ['step'] }),
  enqueue: CORRELATION,
  report: CORRELATION,
  join: CORRELATION,
  tool_call: CORRELATION,
  wakeup: defineRecord<WakeupRecord>()({ inChangeFeed: true, awaited: true, plain: ['wakeup'] }),
  'ui-action': defineRecord<UiAction>()({
    inChangeFeed: true,
    awaited: true,
    immutable: ['project', 'id', 'channel', 'createdAt', 'fingerprint', 'traceparent', 'tracestate'],
    compressed: ['error'],
  }),
  'ui-message': defineRecord<UiMessageAlias>()({}),
  'ui-agent-slot': defineRecord<Item>()({}),
  'statistics-minutes': defineRecord<StatisticsChunk>()({ compressed: ['series'] }),
  'statistics-hours': defineRecord<StatisticsChunk>()({ compressed: ['series'] }),
  'statistics-cursor': defineRecord<StatisticsCursor>()({}),
};

type RecordKind = keyof typeof RECORDS;
export type RecordOf<K extends RecordKind> = (typeof RECORDS)[K] extends RecordDefinition<infer T, boolean> ? T : never;
export type ChangeFeedKind = {
  [K in RecordKind]: (typeof RECORDS)[K]['inChangeFeed'] extends true ? K : never;
}[RecordKind];

const listKinds = (isWanted: (awaited: Awaited | undefined) => boolean): readonly string[] =>
  Object.entries<RecordDefinition<Item, boolean>>(RECORDS).flatMap(([kind, { inChangeFeed, awaited }]) =>
    inChangeFeed && isWanted(awaited) ? kind : [],
  );

// No function needs these lists: the annotations let its bundle go without.
export const CHANGE_FEED_KINDS = /* @__PURE__ */ listKinds(() => true);
/** By whether somebody waits for what follows from their changes: always, by the record, or never. */
export const AWAITED_KINDS = /* @__PURE__ */ listKinds((awaited) => awaited === true);
export const PARTLY_AWAITED_KINDS = /* @__PURE__ */ listKinds((awaited) => typeof awaited === 'function');
export const UNAWAITED_KINDS = /* @__PURE__ */ listKinds((awaited) => awaited === undefined);

/** The fields that the index of the lists has. */
export const LISTED_FIELDS: readonly string[] = /* @__PURE__ */ (() => [
  ...new Set(Object.values(RECORDS).flatMap(({ listed = {} }) => Object.values(listed))),
])();
