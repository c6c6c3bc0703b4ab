import fc from 'fast-check';
import { type Task, taskRef } from '../../shared/model/task.ts';
import { applyChange, type Change, evaluateCondition } from '../../shared/ports/conditions.ts';
import { buildCancelTransition } from '../../shared/tasks/transitions/end-and-requeue.ts';
import {
  type Actor,
  buildClaimTransition,
  buildCompleteTransition,
  buildRenewTransition,
  claimThen,
  failAsHolder,
  provideInput,
  recordProgress,
  requestInput,
} from '../../shared/tasks/transitions/holder-transitions.ts';
import { applyTo, type Transition, toConditionalUpdate } from '../../shared/tasks/transitions/rules.ts';
import { timerTransition } from '../../shared/tasks/transitions/timeouts.ts';

export const LIMITS = {
  maxLeaseMs: 3_600_000,
  maxSilentWorkMs: 14_400_000,
  leaseMs: 300_000,
  maxAttempts: 2,
  retentionMs: 86_400_000,
  requeueMs: 600_000,
  retryMs: 1000,
  maxRetryMs: 60_000,
};

export const START = Date.parse('2026-03-01T12:00:00Z');

export const newTask = (overrides: Partial<Task> = {}): Task => ({
  ...taskRef('default', 'task-1'),
  sk: 'task',
  v: 1,
  token: 'first',
  at: START,
  project: 'default',
  id: 'task-1',
  dialect: 'round-table',
  status: 'requested',
  priority: 'normal',
  from: 'requester',
  domain: 'security',
  capability: 'security.briefing',
  createdAt: START,
  ttlSeconds: 1800,
  deadline: START + 1_800_000,
  queueGeneration: 1,
  queuedAt: START,
  requeueCount: 0,
  attempt: 0,
  maxAttempts: LIMITS.maxAttempts,
  input: { json: {} },
  extensions: {},
  fingerprint: 'f',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  due: START + LIMITS.requeueMs,
  byList: { pk: 'default#inbox#requester' },
  ...overrides,
});

export type Move =
  | { do: 'claim' | 'progress' | 'complete' | 'renew' | 'ask'; agent: string }
  | { do: 'queueClaim'; agent: string; which: number }
  | { do: 'fail'; agent: string; retryable: boolean; after?: number }
  | { do: 'cancel' | 'answer' }
  | { do: 'wait'; ms: number };

const agent = fc.constantFrom('worker', 'other-worker');
const byAgent = <D extends Exclude<Move['do'], 'queueClaim' | 'fail' | 'cancel' | 'answer' | 'wait'>>(what: D) =>
  fc.record({ do: fc.constant(what), agent });

/** Ends are rare so that task cycles are long. */
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 2, arbitrary: byAgent('claim') },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('queueClaim' as const), agent, which: fc.nat(20) }) },
  { weight: 3, arbitrary: byAgent('progress') },
  { weight: 1, arbitrary: byAgent('complete') },
  { weight: 2, arbitrary: byAgent('renew') },
  { weight: 2, arbitrary: byAgent('ask') },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('answer' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('fail' as const),
      agent,
      retryable: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      after: fc.option(fc.nat(90), { nil: undefined }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 500, 10_000, 90_000, 299_999, 300_000, 601_000, 1_800_000),
    }),
  },
);

export const moves: fc.Arbitrary<Move[]> = fc.array(move, { maxLength: 50 });

let messages = 0;

export interface QueueMessage {
  entry: number;
  due: number;
}

/** Undefined when the rules reject the move. */
export const changeFor = (task: Task, move: Move, now: number, queue: QueueMessage[]): Change | undefined => {
  const by = (agent: string): Actor => ({ agent, domains: ['security'], capabilities: [], now, limits: LIMITS });
  const report = () => ({ processedMessage: { id: `m${++messages}`, fingerprint: 'x' } });
  switch (move.do) {
    case 'claim':
      return allowed(
        applyTo(
          task,
          buildClaimTransition(task, by(move.agent), { due: task.due, processedMessage: report().processedMessage }),
        ),
      );
    case 'queueClaim':
      return blindly(task, buildClaimTransition(task, by(move.agent), queue[move.which % queue.length] ?? {}));
    case 'progress':
      return allowed(recordProgress(task, by(move.agent), report(), { at: now, percent: 10 }));
    case 'complete':
      return allowed(
        claimThen(task, by(move.agent), () => buildCompleteTransition(by(move.agent), report(), { json: {} }, {})),
      );
    case 'renew':
      return blindly(task, buildRenewTransition(by(move.agent)));
    case 'ask':
      return allowed(
        requestInput(task, by(move.agent), report(), { prompt: { prompt: '?', resumable: now % 2 === 0 } }),
      );
    case 'answer':
      return allowed(provideInput(task, { now, limits: LIMITS }, 42, { agent: 'requester' }));
    case 'fail': {
      const error = { code: 'model_error', message: 'm', retryable: move.retryable, retryAfterSeconds: move.after };
      return allowed(failAsHolder(task, by(move.agent), report(), error, {}));
    }
    case 'cancel':
      return allowed(applyTo(task, buildCancelTransition('requester', { now, limits: LIMITS })));
    case 'wait':
      return task.due !== undefined && task.due <= now ? timerTransition(task, { now, limits: LIMITS }) : undefined;
  }
};

const allowed = (decision: Change | Error): Change | undefined => (decision instanceof Error ? undefined : decision);

/** By the condition alone, as an engine evaluates a conditional update. */
const blindly = (task: Task, transition: Transition): Change | undefined => {
  const change = toConditionalUpdate(transition);
  return change.if && evaluateCondition(change.if, task) ? change : undefined;
};

export const after = (task: Task, change: Change, now: number): Task =>
  ({ ...applyChange(task, change), v: task.v + 1, at: now }) as Task;
