import { type Asked, type Claimed, type History, of, type Reported, type TaskKey, toTaskKey } from './history.ts';

export type Rule = (history: History) => string[];

const FINAL = ['task.completed', 'task.failed', 'task.expired', 'task.cancelled'];
const HELD = [
  'task.progress',
  'task.released',
  'task.retrying',
  'task.step',
  'task.input_required',
  'task.input_given',
  ...FINAL,
];
const FREE = ['task.claimed', 'task.expired', 'task.cancelled'];
const FOLLOWS: Record<string, string[]> = {
  nothing: ['task.requested', 'task.waiting'],
  'task.waiting': ['task.requested', 'task.expired', 'task.cancelled', 'task.failed'],
  'task.requested': FREE,
  'task.released': FREE,
  'task.retrying': FREE,
  'task.claimed': HELD,
  'task.progress': HELD,
};

const accepted = (history: History): Asked[] => of(history, 'asked').filter(({ isAccepted }) => isAccepted);
const byTask = <T extends { task: TaskKey }>(all: T[]): Map<TaskKey, T[]> => Map.groupBy(all, ({ task }) => task);
const unique = <T>(all: T[]): T[] => [...new Set(all)];

/** Every acknowledged request is there, with its own input. */
const nothingLost: Rule = (history) =>
  accepted(history).flatMap(({ task, mark, by }) => {
    const found = history.end.tasks[task];
    if (!found) return [`the request ${task} of ${by} was acknowledged, and is gone`];
    return JSON.stringify(found.payload ?? '').includes(mark) ? [] : [`${task} has the input of another`];
  });

/** Every task has ended when everything that could wait for has come. */
const nothingStuck: Rule = (history) =>
  unique(accepted(history).map(({ task }) => task)).flatMap((task) => {
    const { state, attempt, dialect, to, type } = history.end.tasks[task] ?? {};
    const isEnded = state === undefined || FINAL.includes(`task.${state}`);
    return isEnded
      ? []
      : [`${task} of ${dialect} (${type}, to ${to ?? 'anyone'}) is still ${state} at attempt ${attempt}`];
  });

const onceAgainIsADuplicate: Rule = (history) => [
  ...of(history, 'asked').flatMap(({ isAgain, isAccepted, isDuplicate, task }) =>
    isAgain && !(isAccepted && isDuplicate) ? [`the request ${task}, sent again, was not answered as a duplicate`] : [],
  ),
  ...of(history, 'reported').flatMap(({ isAgain, isAccepted, isDuplicate, task, what }) =>
    isAgain && isAccepted && !isDuplicate ? [`the ${what} of ${task}, sent again, was taken for a new one`] : [],
  ),
];

const storiesOf = (history: History): Map<TaskKey, History['end']['events']> =>
  Map.groupBy(
    history.end.events.filter(({ type, data }) => type.startsWith('task.') && data.taskId !== undefined),
    ({ data }) => toTaskKey(data.taskId),
  );

/** The events of a task tell one life: held by one at a time, each time as the next attempt, and ended once. */
const oneLife: Rule = (history) => {
  const stories = storiesOf(history);
  const holders = new Map<string, string>();
  for (const { agent, tasks } of of(history, 'claimed'))
    for (const { task, attempt } of tasks) holders.set(`${task}#${attempt}`, agent);
  const waits = new Set(accepted(history).flatMap(({ task, dependency }) => (dependency === undefined ? [] : [task])));
  return unique(accepted(history).map(({ task }) => task)).flatMap((task) => {
    const story = stories.get(task) ?? [];
    const told = `${task}: ${story.map(({ type }) => type.slice(5)).join(' ')}`;
    const found: string[] = [];
    let [before, attempt] = ['nothing', 0];
    for (const { type, data } of story) {
      if (!(type in FOLLOWS) && !HELD.includes(type)) continue;
      // What it waits for has failed.
      const isUnneeded = type === 'task.failed' && before === 'task.requested' && waits.has(task);
      if (!isUnneeded && !FOLLOWS[before]?.includes(type)) found.push(`${type} after ${before} in ${told}`);
      if (type === 'task.claimed') {
        attempt += 1;
        const holder = holders.get(`${task}#${attempt}`);
        if (data.attempt !== attempt) found.push(`attempt ${data.attempt} where ${attempt} should be in ${told}`);
        if (holder !== undefined && holder !== data.agent)
          found.push(`attempt ${attempt} of ${task} was given to ${holder}, and the log says ${data.agent}`);
      }
      before = type;
    }
    const { state, attempt: shown } = history.end.tasks[task] ?? {};
    if (state !== undefined && FINAL.includes(`task.${state}`) && before !== `task.${state}`)
      found.push(`it is ${state} in the end, which no event tells: ${told}`);
    if (shown !== undefined && shown !== attempt) found.push(`it shows attempt ${shown}: ${told}`);
    return found;
  });
};

/** No two agents were given the same attempt, and nobody is heard on an attempt after another one was handed out. */
const oneHolder: Rule = (history) => {
  const found: string[] = [];
  const given = new Map<string, Claimed>();
  const handed = new Map<TaskKey, { attempt: number; answered: number }[]>();
  for (const claim of of(history, 'claimed')) {
    for (const { task, attempt } of claim.tasks) {
      const other = given.get(`${task}#${attempt}`);
      if (other && (other.agent !== claim.agent || other.claimId !== claim.claimId))
        found.push(`attempt ${attempt} of ${task} was given to ${other.agent} and to ${claim.agent}`);
      given.set(`${task}#${attempt}`, claim);
      handed.set(task, [...(handed.get(task) ?? []), { attempt, answered: claim.answered }]);
    }
  }
  const counted = of(history, 'reported').filter(({ isAccepted, isDuplicate }) => isAccepted && !isDuplicate);
  const byTaskKey = byTask(counted);
  for (const { isNamed, task, attempt, begun, answered, what, agent } of counted) {
    const newer = handed.get(task)?.filter((one) => one.attempt > attempt && one.answered < begun) ?? [];
    if (isNamed && newer[0])
      found.push(
        `the ${what} of ${agent} for attempt ${attempt} of ${task} counted after ${newer[0].attempt} was given`,
      );
    // Without its attempt, it must at least not count while another holds the task and is heard on it later.
    const holds = byTaskKey
      .get(task)
      ?.find((other) => other.isNamed && other.agent !== agent && other.begun > answered && isIn(newer, other.attempt));
    if (!isNamed && holds) found.push(`the ${what} of ${agent} on ${task} counted while ${holds.agent} held it`);
  }
  return found;
};

const isIn = (handed: { attempt: number }[], attempt: number): boolean => handed.some((one) => one.attempt === attempt);

const sameClaimSameTasks: Rule = (history) =>
  [...Map.groupBy(of(history, 'claimed'), ({ agent, claimId }) => `${agent} ${claimId}`)].flatMap(([, claims]) => {
    const [first, ...again] = claims.filter(({ tasks }) => tasks.length > 0);
    const known = new Set([...(first?.tasks.map(({ task }) => task) ?? []), ...history.end.unhanded]);
    return again.flatMap(({ agent, tasks }) =>
      tasks
        .filter(({ task }) => !known.has(task))
        .map(({ task }) => `the same claim of ${agent} brought ${task} later`),
    );
  });

const knownToItsHolder: Rule = (history) =>
  of(history, 'reported').flatMap(({ isUnknown, agent, task, what }) =>
    isUnknown ? [`${agent} was given ${task}, and its ${what} is about no task`] : [],
  );

const inputOf = (history: History): Map<TaskKey, string> =>
  new Map(accepted(history).map(({ task, mark }) => [task, mark]));

const rightInput: Rule = (history) => {
  const marks = inputOf(history);
  return of(history, 'claimed').flatMap(({ tasks, agent }) =>
    tasks.flatMap(({ task, marks: found }) => {
      const mark = marks.get(task);
      return mark === undefined || found.includes(mark) ? [] : [`${agent} was given ${task} without its input`];
    }),
  );
};

const results = (history: History): Map<TaskKey, Reported[]> =>
  byTask(of(history, 'reported').filter(({ what, isAccepted }) => what === 'result' && isAccepted));

/** At most one result counts, and it is the one that the task shows. */
const oneResult: Rule = (history) => {
  const counted = results(history);
  return Object.entries(history.end.tasks).flatMap(([task, shown]) => {
    const marks = unique((counted.get(task) ?? []).map(({ mark }) => mark));
    if (marks.length > 1) return [`${marks.length} results of ${task} were acknowledged`];
    const [mark] = marks;
    if (mark === undefined) return [];
    if (shown.state !== 'completed') return [`a result of ${task} was acknowledged, and it is ${shown.state}`];
    return JSON.stringify(shown.result ?? '').includes(mark) ? [] : [`${task} shows another result`];
  });
};

/** Each acknowledged progress is one event. */
const oneEffect: Rule = (history) => {
  const count = (all: TaskKey[]): Map<TaskKey, number> =>
    new Map([...Map.groupBy(all, (task) => task)].map(([task, same]) => [task, same.length]));
  const said = of(history, 'reported').filter(
    ({ what, isAccepted, isAgain }) => what === 'progress' && isAccepted && !isAgain,
  );
  const sure = count(said.filter(({ isUnsure }) => !isUnsure).map(({ task }) => task));
  const most = count(said.map(({ task }) => task));
  const logged = history.end.events.filter(({ type }) => type === 'task.progress');
  const told = count(logged.map(({ data }) => toTaskKey(data.taskId)));
  return unique(accepted(history).map(({ task }) => task)).flatMap((task) => {
    const [wanted, found] = [sure.get(task) ?? 0, told.get(task) ?? 0];
    const isRight = found >= wanted && found <= (most.get(task) ?? 0);
    return isRight ? [] : [`${wanted} reports of progress on ${task} were acknowledged, ${found} are logged`];
  });
};

const cancelledForGood: Rule = (history) =>
  of(history, 'cancelled').flatMap(({ task, isAccepted }) => {
    const { state } = history.end.tasks[task] ?? {};
    return isAccepted && state !== undefined && state !== 'cancelled'
      ? [`the cancellation of ${task} was acknowledged, and it is ${state}`]
      : [];
  });

/** The first value of a step is the only one, for whoever asks and for every later attempt. */
const oneStep: Rule = (history) => {
  const found: string[] = [];
  const kept = new Map<string, { value: string; answered: number }>();
  for (const { task, step, isAccepted, isDuplicate, answered } of of(history, 'reported')) {
    if (!step || !isAccepted) continue;
    const [key, value] = [`${step.name} of ${task}`, JSON.stringify(step.kept)];
    const first = kept.get(key);
    if (first && first.value !== value) found.push(`the step ${key} has two values, ${first.value} and ${value}`);
    if (!first) kept.set(key, { value, answered });
    if (!isDuplicate && value !== JSON.stringify(step.value)) found.push(`the step ${key} kept what nobody wrote`);
  }
  for (const { tasks, begun } of of(history, 'claimed')) {
    for (const { task, steps } of tasks) {
      for (const [key, { value, answered }] of kept) {
        const [name = '', of = ''] = key.split(' of ');
        if (of !== task || answered > begun) continue;
        if (JSON.stringify(steps[name]) !== value)
          found.push(`a later attempt of ${task} was not given its step ${name}`);
      }
    }
  }
  return found;
};

const inOrder: Rule = (history) => {
  const claims = history.end.events.filter(({ type }) => type === 'task.claimed');
  return accepted(history).flatMap(({ task, notBefore = 0, dependency }) => {
    const found: string[] = [];
    const first = claims.find(({ data }) => toTaskKey(data.taskId) === task);
    if (first && first.at < notBefore) found.push(`${task} was claimed ${notBefore - first.at} ms before its start`);
    const needed = dependency === undefined ? undefined : history.end.tasks[dependency];
    if (first && dependency !== undefined && needed?.state !== 'completed')
      found.push(`${task} was claimed, and ${dependency}, which it waits for, is ${needed?.state}`);
    return found;
  });
};

export const TASK_RULES = {
  'nothing is lost': nothingLost,
  'nothing is stuck': nothingStuck,
  'a repetition is a duplicate': onceAgainIsADuplicate,
  'a task has one life': oneLife,
  'a task has one holder': oneHolder,
  'a claim brings the same tasks': sameClaimSameTasks,
  'a task that was handed out is known': knownToItsHolder,
  'a task brings its input': rightInput,
  'a task has one result': oneResult,
  'a report has one effect': oneEffect,
  'what is cancelled stays so': cancelledForGood,
  'a step is made once': oneStep,
  'nothing begins too early': inOrder,
} satisfies Record<string, Rule>;
