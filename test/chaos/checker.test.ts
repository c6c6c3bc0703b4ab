import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { check, RULE_NAMES, type RuleName } from './checker.ts';
import { type End, type Entry, type History, marksIn, toTaskKey } from './history.ts';

const TASK = '550e8400-e29b-41d4-a716-446655440000';
const NEXT = '660e8400-e29b-41d4-a716-446655440000';
const [task, next] = [toTaskKey(TASK), toTaskKey(NEXT)];
const [asked, answered, note, turnStep] = [1, 2, 3, 4].map((n) => `mark-${String(n).repeat(12)}`) as [
  string,
  string,
  string,
  string,
];

/** As the recorder numbers them: each entry is over before the next begins. */
const numbered = (entries: object[]): Entry[] =>
  entries.map((entry, n) => ({ begun: 2 * n, answered: 2 * n + 1, ...entry }) as Entry);

const event = (id: string, type: string, data: object, at = 0) => ({ id, type, at, data });
const report = {
  kind: 'reported',
  agent: 'worker',
  task,
  attempt: 1,
  isNamed: true,
  isAccepted: true,
  isDuplicate: false,
};
const step = { name: 'fetch', value: 1, kept: 1 };
const worked = {
  kind: 'advanced',
  agent: 'merlin',
  worker: 'a',
  turn: 'turn_1',
  epoch: 1,
  isAccepted: true,
  isDuplicate: false,
};

/** One of everything, and all as it should be. */
const goodEntries = (): object[] => [
  { kind: 'asked', by: 'boss', dialect: 'native', task, id: TASK, mark: asked, isAccepted: true, isDuplicate: false },
  {
    kind: 'asked',
    by: 'boss',
    dialect: 'native',
    task,
    id: TASK,
    mark: asked,
    isAccepted: true,
    isDuplicate: true,
    isAgain: true,
  },
  {
    kind: 'asked',
    by: 'knight',
    dialect: 'native',
    task: next,
    id: NEXT,
    mark: note,
    isAccepted: true,
    isDuplicate: false,
    notBefore: 5,
    dependency: task,
    onNats: true,
  },
  { kind: 'claimed', agent: 'worker', claimId: 'c1', tasks: [{ task, attempt: 1, marks: [asked], steps: {} }] },
  { ...report, what: 'step', step },
  { ...report, what: 'progress' },
  { ...report, what: 'release' },
  {
    kind: 'claimed',
    agent: 'other',
    claimId: 'c2',
    tasks: [{ task, attempt: 2, marks: [asked], steps: { fetch: 1 } }],
  },
  { ...report, agent: 'other', attempt: 2, what: 'result', mark: answered },
  { kind: 'read', agent: 'boss', id: 'r1', what: 'outcome', task, marks: [answered] },
  { kind: 'acknowledged', agent: 'boss', ids: ['r1'] },
  { kind: 'cancelled', task: next, isAccepted: true },
  { kind: 'noted', to: 'scribe', mark: note, isAccepted: true },
  { kind: 'read', agent: 'scribe', id: 'n1', what: 'note', marks: [note] },
  { kind: 'noted', to: 'squire', mark: turnStep, isAccepted: true, onNats: true },
  { kind: 'called', agent: 'merlin', turn: 'turn_1', correlation: 'call' },
  { kind: 'leased', agent: 'merlin', worker: 'a', turn: 'turn_1', epoch: 1 },
  { ...worked, verb: 'step', step: turnStep },
  { ...worked, verb: 'deliver' },
  { kind: 'streamed', id: 'e9' },
  { kind: 'scheduled', id: 'clockwork', runs: 1 },
];

const goodEnd = (): End => ({
  tasks: {
    [task]: { state: 'completed', attempt: 2, payload: { asked }, result: { answered } },
    [next]: { state: 'cancelled', attempt: 0, payload: { note } },
  },
  turns: { turn_1: { status: 'success', ended_at: 'now' } },
  events: [
    event('e1', 'task.requested', { taskId: TASK }),
    event('e2', 'task.claimed', { taskId: TASK, attempt: 1, agent: 'worker' }),
    event('e3', 'task.progress', { taskId: TASK }),
    event('e4', 'task.released', { taskId: TASK }),
    event('e5', 'task.claimed', { taskId: TASK, attempt: 2, agent: 'other' }),
    event('e6', 'task.completed', { taskId: TASK }),
    event('e7', 'task.requested', { taskId: NEXT }),
    event('e8', 'task.cancelled', { taskId: NEXT }),
    event('e10', 'evt.agent.step', { payload: { step_id: turnStep } }),
    event('e11', 'evt.agent.task', { payload: { agent_turn_id: 'turn_1' } }),
    event('e12', 'task.requested', { taskId: 'of a schedule', from: 'clockwork' }),
    event('e9', 'queue.paused', {}),
  ],
  streamedFrom: 0,
  inboxes: { boss: [], scribe: ['n1'] },
  onNats: [[turnStep]],
  unhanded: [],
  troubles: [],
});

const good = (): { entries: object[]; end: End } => ({ entries: goodEntries(), end: goodEnd() });
// biome-ignore lint/suspicious/noExplicitAny: each case spoils what it knows to be there
type Spoil = (history: { entries: any[]; end: End }) => void;
const checked = (spoil: Spoil): RuleName[] => {
  const { entries, end } = good();
  spoil({ entries, end });
  entries.push(...end.events.flatMap(({ id }) => (id === 'e9' ? [] : { kind: 'streamed', id })));
  return [...new Set(check({ entries: numbered(entries), end } satisfies History).map(({ rule }) => rule))];
};

/** What went wrong, and the rules that must say so. */
const CASES: [string, RuleName[], Spoil][] = [
  ['an acknowledged task is gone', ['nothing is lost'], ({ end }) => void delete end.tasks[next]],
  [
    'a task has the input of another',
    ['nothing is lost'],
    ({ end }) => void Object.assign(end.tasks[task], { payload: {} }),
  ],
  [
    'a task never ends',
    ['nothing is stuck', 'what is cancelled stays so'],
    ({ end }) => {
      end.tasks[next].state = 'requested';
      end.events.splice(7, 1);
    },
  ],
  [
    'a repeated request is taken for a new one',
    ['a repetition is a duplicate'],
    ({ entries }) => void Object.assign(entries[1], { isDuplicate: false }),
  ],
  [
    'a repeated report is taken for a new one',
    ['a repetition is a duplicate'],
    ({ entries }) => void entries.push({ ...report, agent: 'other', attempt: 2, what: 'progress', isAgain: true }),
  ],
  ['a held task is claimed', ['a task has one life'], ({ end }) => void end.events.splice(3, 1)],
  [
    'a task ends twice',
    ['a task has one life'],
    ({ end }) => void end.events.push(event('e13', 'task.failed', { taskId: TASK })),
  ],
  ['an end is not told', ['a task has one life'], ({ end }) => void end.events.splice(5, 1)],
  [
    'two agents are given an attempt',
    ['a task has one life', 'a task has one holder'],
    ({ entries }) => void Object.assign(entries[7].tasks[0], { attempt: 1 }),
  ],
  [
    'a report counts after the task was given to another',
    ['a task has one holder'],
    ({ entries }) => void entries.push({ ...report, what: 'release' }),
  ],
  [
    'a report without its attempt counts while another holds the task',
    ['a task has one holder'],
    ({ entries }) => void entries.splice(8, 0, { ...report, what: 'release', isNamed: false }),
  ],
  [
    'the same claim brings other tasks',
    ['a claim brings the same tasks'],
    ({ entries }) =>
      void entries.push({
        kind: 'claimed',
        agent: 'worker',
        claimId: 'c1',
        tasks: [{ task: next, attempt: 1, marks: [note], steps: {} }],
      }),
  ],
  [
    'a holder is told that there is no such task',
    ['a task that was handed out is known'],
    ({ entries }) => void entries.push({ ...report, what: 'progress', isAccepted: false, isUnknown: true }),
  ],
  [
    'a task is given with the input of another',
    ['a task brings its input'],
    ({ entries }) => void Object.assign(entries[3].tasks[0], { marks: [] }),
  ],
  [
    'two results are acknowledged',
    ['a task has one result', 'an outcome is the right one'],
    ({ entries }) => void entries.push({ ...report, what: 'result', attempt: 2, mark: note }),
  ],
  [
    'a progress is logged twice',
    ['a report has one effect'],
    ({ end }) => void end.events.splice(3, 0, event('e14', 'task.progress', { taskId: TASK })),
  ],
  [
    'a cancelled task is completed',
    ['what is cancelled stays so'],
    ({ entries }) => void entries.push({ kind: 'cancelled', task, isAccepted: true }),
  ],
  [
    'a step has two values',
    ['a step is made once'],
    ({ entries }) =>
      void entries.push({ ...report, attempt: 2, what: 'step', isDuplicate: true, step: { ...step, kept: 2 } }),
  ],
  [
    'a later attempt is not given a step',
    ['a step is made once'],
    ({ entries }) => void Object.assign(entries[7].tasks[0], { steps: {} }),
  ],
  [
    'a task is claimed before its start',
    ['nothing begins too early', 'a task has one life'],
    ({ end }) =>
      void end.events.splice(7, 0, event('e15', 'task.claimed', { taskId: NEXT, attempt: 1, agent: 'worker' }, 4)),
  ],
  [
    'an older epoch writes',
    ['a turn has one writer'],
    ({ entries }) =>
      void entries.push(
        { kind: 'leased', agent: 'merlin', worker: 'b', turn: 'turn_1', epoch: 2 },
        { ...worked, verb: 'start' },
      ),
  ],
  [
    'an epoch belongs to two turns',
    ['a turn has one writer'],
    ({ entries }) => void entries.push({ kind: 'leased', agent: 'merlin', worker: 'b', turn: 'turn_2', epoch: 1 }),
  ],
  [
    'a call becomes two turns',
    ['a call is one turn'],
    ({ entries }) => void entries.push({ kind: 'called', agent: 'merlin', turn: 'turn_2', correlation: 'call' }),
  ],
  [
    'the end of a turn is told twice',
    ['a call is one turn'],
    ({ end }) => void end.events.push(event('e16', 'evt.agent.task', { payload: { agent_turn_id: 'turn_1' } })),
  ],
  ['a turn is open for ever', ['a call is one turn'], ({ end }) => void delete end.turns.turn_1.ended_at],
  ['the step of a turn is not told', ['a step of a turn is told once'], ({ end }) => void end.events.splice(8, 1)],
  [
    'a delivered turn has failed',
    ['a turn is delivered once'],
    ({ end }) => void Object.assign(end.turns.turn_1, { status: 'failed' }),
  ],
  ['an outcome never comes', ['a task has one outcome'], ({ entries }) => void entries.splice(9, 1)],
  [
    'an outcome comes as two messages',
    ['a task has one outcome'],
    ({ entries }) => void entries.push({ ...entries[9], id: 'r2' }),
  ],
  [
    'an outcome is that of another task',
    ['an outcome is the right one'],
    ({ entries }) => void Object.assign(entries[9], { marks: [] }),
  ],
  [
    'an acknowledged entry stays',
    ['what is acknowledged does not come again'],
    ({ end }) => void end.inboxes.boss?.push('r1'),
  ],
  ['a message is lost', ['a message is read once'], ({ entries }) => void entries.splice(13, 1)],
  ['a message is on NATS twice', ['a message is on NATS once'], ({ end }) => void end.onNats.push([turnStep])],
  ['the stream leaves out an event', ['a stream misses nothing'], ({ entries }) => void entries.splice(19, 1)],
  [
    'a run of a schedule makes two tasks',
    ['a schedule makes one task a run'],
    ({ end }) =>
      void end.events.splice(11, 0, event('e17', 'task.requested', { taskId: 'another', from: 'clockwork' })),
  ],
  ['a process ends by itself', ['nothing goes wrong by itself'], ({ end }) => void end.troubles.push('it ended')],
];

describe('the checker of chaos', () => {
  it('finds nothing in a history in which all is as it should be', () => {
    assert.deepEqual(
      checked(() => {}),
      [],
    );
  });

  for (const [what, rules, spoil] of CASES) {
    it(`finds that ${what}`, () =>
      assert.ok(
        rules.every((rule) => checked(spoil).includes(rule)),
        String(checked(spoil)),
      ));
    it(`blames nothing else where ${what}`, () =>
      assert.ok(
        checked(spoil).every((rule) => rules.includes(rule)),
        String(checked(spoil)),
      ));
  }

  it('has a case for each of its rules', () => {
    const blamed = new Set(CASES.flatMap(([, rules]) => rules));
    assert.deepEqual(
      RULE_NAMES.filter((rule) => !blamed.has(rule)),
      [],
    );
  });

  it('knows a task by its whole id and by eight digits, and a mark wherever it stands', () => {
    assert.equal(toTaskKey(toTaskKey(TASK)), task);
    assert.deepEqual(marksIn({ deep: [`"${asked}"`, { [note]: 1 }] }), [asked, note]);
  });
});
