import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { computeTaskEffects } from '../../shared/effects/task-effects.ts';
import type { Effect } from '../../shared/model/effect.ts';
import type { Task } from '../../shared/model/task.ts';
import { evaluateCondition } from '../../shared/ports/conditions.ts';
import type { RecordChange } from '../../shared/ports/records.ts';
import {
  type Actor,
  buildClaimTransition,
  buildCompleteTransition,
  buildRenewTransition,
} from '../../shared/tasks/transitions/holder-transitions.ts';
import { applyTo, toConditionalUpdate } from '../../shared/tasks/transitions/rules.ts';
import { computeNextCheckAt } from '../../shared/tasks/transitions/timeouts.ts';
import { after, changeFor, LIMITS, type Move, moves, newTask, type QueueMessage, START } from './random-task-cycles.ts';

interface Step {
  before: Task;
  after: Task;
  move: Move;
}

const play = (list: Move[]): Step[] => {
  const steps: Step[] = [];
  let task = newTask();
  let now = START;
  const queue = queued({ after: task });
  for (const move of list) {
    if (move.do === 'wait') now += move.ms;
    const change = changeFor(task, move, now, queue);
    if (!change) continue;
    const next = after(task, change, now);
    queue.push(...queued({ before: task, after: next }));
    steps.push({ before: task, after: next, move });
    task = next;
  }
  return steps;
};

const queued = (change: RecordChange<Task>): QueueMessage[] =>
  computeTaskEffects(change).flatMap((effect) =>
    effect.kind === 'enqueue' ? [effect.message.body as unknown as QueueMessage] : [],
  );

const everyLife = (check: (steps: Step[]) => void): void =>
  fc.assert(
    fc.property(moves, (list) => check(play(list))),
    { numRuns: 2000 },
  );

const deliveredTo = (agent: string, steps: Step[]): (string | undefined)[] =>
  steps
    .flatMap(computeTaskEffects)
    .flatMap((effect) =>
      effect.kind === 'deliver' && effect.delivery.pk === `default#inbox#${agent}`
        ? [effect.delivery.outcome?.status]
        : [],
    );

const holderOf = (task: Task): string | undefined => (task.endedAt === undefined ? task.holder : undefined);

describe('task transitions', () => {
  it('reaches every task state in the random task cycles', () => {
    const reached = new Set<string>(['requested']);
    everyLife((steps) => {
      for (const step of steps) reached.add(step.after.status);
    });
    const all = [
      'requested',
      'claimed',
      'in_progress',
      'input_required',
      'completed',
      'failed',
      'expired',
      'cancelled',
    ];
    assert.deepEqual([...reached].toSorted(), all.toSorted());
  });

  it('never changes an ended task', () =>
    everyLife((steps) => {
      for (const { before, move } of steps) assert.equal(before.endedAt, undefined, `${move.do} changed an ended task`);
    }));

  it('never passes a task from one holder to another without its queue', () =>
    everyLife((steps) => {
      for (const { before, after } of steps) {
        const [old, next] = [holderOf(before), holderOf(after)];
        if (old !== undefined && next !== undefined) assert.equal(next, old);
        if (old === undefined && next !== undefined) assert.equal(after.attempt, before.attempt + 1);
      }
    }));

  it('rejects every report from an agent that does not hold the task', () =>
    everyLife((steps) => {
      for (const { before, move } of steps) {
        if ('agent' in move && holderOf(before) !== undefined) assert.equal(move.agent, before.holder, move.do);
      }
    }));

  it('records a holder exactly while a task is claimed, in progress or waiting for input', () =>
    everyLife((steps) => {
      for (const { after } of steps) {
        const isHeld = ['claimed', 'in_progress', 'input_required'].includes(after.status);
        assert.equal(holderOf(after) !== undefined, isHeld, after.status);
      }
    }));

  it('never decreases attempts or queue generations and never exceeds the maximum of attempts', () =>
    everyLife((steps) => {
      for (const { before, after } of steps) {
        assert.ok(after.attempt >= before.attempt && after.queueGeneration >= before.queueGeneration);
        assert.ok(after.attempt <= after.maxAttempts);
      }
    }));

  it('sets the timer of a task no later than its next deadline, and removes it when there is none', () =>
    everyLife((steps) => {
      for (const { after } of steps) {
        const look = computeNextCheckAt(after, LIMITS);
        if (look === undefined) assert.equal(after.due, undefined);
        else assert.ok(after.due !== undefined && after.due <= look, `${after.status}: due ${after.due}, look ${look}`);
      }
    }));

  it('lists a task under its holder exactly while it is held', () =>
    everyLife((steps) => {
      for (const { after } of steps) {
        assert.equal(after.byHolder?.pk, holderOf(after) && `default#holder#${after.holder}`, after.status);
        assert.equal(after.byHolder?.sk !== undefined, holderOf(after) !== undefined);
      }
    }));

  it('lists a completed task in the inbox of its requester, a failed or expired one in the dead letters, and no other', () =>
    everyLife((steps) => {
      for (const { after } of steps) {
        const isDead = ['failed', 'expired'].includes(after.status);
        assert.equal(after.byList?.pk, isDead ? 'default#failed' : 'default#inbox#requester', after.status);
        assert.equal(after.byList?.sk !== undefined, isDead || after.status === 'completed', after.status);
      }
    }));

  it('decides alike by conditional update and by rules on the record', () =>
    everyLife((steps) => {
      for (const { after: task } of steps) {
        const by: Actor = { agent: 'worker', domains: ['security'], capabilities: [], now: task.at, limits: LIMITS };
        const report = { processedMessage: { id: 'm', fingerprint: 'f' }, attempt: 1 };
        const transitions = [
          buildClaimTransition(task, by, { queueGeneration: 1, due: task.due }),
          buildRenewTransition(by),
          buildCompleteTransition(by, report, { json: 1 }, {}),
        ];
        for (const transition of transitions) {
          const condition = toConditionalUpdate(transition).if;
          assert.equal(condition && evaluateCondition(condition, task), !(applyTo(task, transition) instanceof Error));
        }
      }
    }));
});

describe('task effects', () => {
  const effects = (steps: Step[]): Effect[] => [
    ...computeTaskEffects({ after: newTask() }),
    ...steps.flatMap(({ before, after }) => computeTaskEffects({ before, after })),
  ];

  it('enqueues every waiting queue generation once per send', () =>
    everyLife((steps) => {
      const sent = effects(steps).flatMap((effect) => (effect.kind === 'enqueue' ? [effect.message.dedupId] : []));
      assert.equal(new Set(sent).size, sent.length, 'an entry was sent twice under one id');
      for (const { after } of steps) {
        if (after.status !== 'requested' || after.notBefore !== undefined) continue;
        assert.ok(
          sent.includes(`task-1#${after.queueGeneration}#${after.requeueCount}`),
          'a waiting task was never queued',
        );
      }
    }));

  it('publishes each end once and notifies the requester once, except of its own cancellation', () =>
    everyLife((steps) => {
      const last = steps.at(-1)?.after;
      const ends = effects(steps).filter(
        (effect) => effect.kind === 'publish' && /completed|failed|expired|cancelled/.test(effect.event.type),
      );
      const told = deliveredTo('requester', steps).filter((status) => status !== 'input_required');
      const hasEnded = last?.endedAt !== undefined;
      const stands = last?.byList?.pk === 'default#inbox#requester' && last.byList.sk !== undefined ? 1 : 0;
      assert.equal(ends.length, hasEnded ? 1 : 0);
      assert.equal(told.length + stands, hasEnded && last.status !== 'cancelled' ? 1 : 0);
    }));

  it('delivers each question to the requester once and each answer to the holder once', () =>
    everyLife((steps) => {
      const asks = steps.filter(({ move, after }) => move.do === 'ask' && after.status === 'input_required');
      const questions = deliveredTo('requester', steps).filter((status) => status === 'input_required');
      assert.equal(questions.length, asks.length);
      const given = steps.filter(({ move }) => move.do === 'answer').map(({ before }) => before.holder ?? '');
      for (const agent of ['worker', 'other-worker']) {
        const answers = deliveredTo(agent, steps).filter((status) => status === 'claimed');
        assert.equal(answers.length, given.filter((holder) => holder === agent).length);
      }
    }));

  it('publishes each attempt once', () =>
    everyLife((steps) => {
      const claims = effects(steps).filter(
        (effect) => effect.kind === 'publish' && effect.event.type === 'task.claimed',
      );
      assert.equal(claims.length, steps.at(-1)?.after.attempt ?? 0);
    }));

  it('gives every event, delivery and queue message its own id', () =>
    everyLife((steps) => {
      const ids = effects(steps).flatMap((effect) => {
        if (effect.kind === 'publish') return [effect.event.id];
        return effect.kind === 'deliver' ? [`${effect.delivery.pk} ${effect.delivery.sk}`] : [];
      });
      assert.equal(new Set(ids).size, ids.length);
    }));

  it('computes the same effects for the same change', () =>
    everyLife((steps) => {
      for (const { before, after } of steps)
        assert.deepEqual(computeTaskEffects({ before, after }), computeTaskEffects({ before, after }));
    }));
});
