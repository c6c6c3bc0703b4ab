import type { Rule } from './checker-tasks.ts';
import { type History, of, type Read, type TaskKey } from './history.ts';

/** What inboxes brought of the end of a task. A report that came too late may look like one, and is none. */
const outcomes = (history: History): (Read & { task: TaskKey })[] => {
  const plain = new Set(of(history, 'reported').flatMap(({ isPlain, mark }) => (isPlain && mark ? [mark] : [])));
  return of(history, 'read').filter(
    (read): read is Read & { task: TaskKey } =>
      read.what === 'outcome' && read.task !== undefined && !read.marks.some((mark) => plain.has(mark)),
  );
};

/** The mark of the result that was acknowledged, by task. */
const resultMarks = (history: History): Map<TaskKey, string> =>
  new Map(
    of(history, 'reported').flatMap(({ what, isAccepted, task, mark }) =>
      what === 'result' && isAccepted && mark !== undefined ? [[task, mark] as const] : [],
    ),
  );

/** Each requester reads one outcome for each of its tasks, unless it cancelled it. */
const oneOutcome: Rule = (history) => {
  const ids = new Map<TaskKey, Set<string>>();
  for (const { task, id } of outcomes(history)) ids.set(task, (ids.get(task) ?? new Set()).add(id));
  const asked = of(history, 'asked').filter(({ isAccepted, isAgain, onNats }) => isAccepted && !isAgain && !onNats);
  return asked.flatMap(({ task, by }) => {
    const { state } = history.end.tasks[task] ?? {};
    const [wanted, found] = [state === 'cancelled' ? 0 : 1, ids.get(task)?.size ?? 0];
    return wanted === found || state === undefined
      ? []
      : [`${by} read ${found} outcomes of ${task}, which is ${state}`];
  });
};

/** The outcome is that of the task. */
const rightOutcome: Rule = (history) => {
  const results = resultMarks(history);
  return outcomes(history).flatMap(({ task, marks, agent }) => {
    const mark = results.get(task);
    return mark === undefined || marks.includes(mark) ? [] : [`${agent} read another outcome of ${task}`];
  });
};

/** A list may lag behind an acknowledgement, and not for ever. */
const acknowledgedForGood: Rule = (history) => {
  const acknowledged = new Set(
    of(history, 'acknowledged').flatMap(({ agent, ids }) => ids.map((id) => `${agent} ${id}`)),
  );
  return Object.entries(history.end.inboxes).flatMap(([agent, ids]) =>
    ids
      .filter((id) => acknowledged.has(`${agent} ${id}`))
      .map((id) => `${id} is in the inbox of ${agent}, which has acknowledged it`),
  );
};

const everyNote: Rule = (history) => {
  const read = new Map<string, Set<string>>();
  for (const { marks, id } of of(history, 'read'))
    for (const mark of marks) read.set(mark, (read.get(mark) ?? new Set()).add(id));
  return of(history, 'noted').flatMap(({ mark, to, isAccepted, onNats }) => {
    const times = read.get(mark)?.size ?? 0;
    return !isAccepted || onNats || times === 1
      ? []
      : [`the message ${mark} to ${to} was acknowledged, and read ${times} times`];
  });
};

const onNatsOnce: Rule = (history) => {
  const times = (mark: string): number => history.end.onNats.filter((marks) => marks.includes(mark)).length;
  const notes = of(history, 'noted').filter(({ isAccepted, onNats }) => isAccepted && onNats);
  const marks = resultMarks(history);
  const asked = of(history, 'asked').filter(({ isAccepted, onNats }) => isAccepted && onNats);
  const wanted = [...notes.map(({ mark }) => mark), ...asked.flatMap(({ task }) => marks.get(task) ?? [])];
  return wanted.flatMap((mark) => (times(mark) === 1 ? [] : [`${mark} is on NATS ${times(mark)} times`]));
};

/** A reader of the live stream misses nothing, however slow it is and however often it is cut off. */
const streamMissesNothing: Rule = (history) => {
  const { streamedFrom, events } = history.end;
  if (streamedFrom === undefined) return [];
  const seen = new Set(of(history, 'streamed').map(({ id }) => id));
  return events
    .slice(streamedFrom)
    .filter(({ id }) => !seen.has(id))
    .map(({ id }) => `the slow reader was never told ${id}`);
};

const everyRun: Rule = (history) =>
  of(history, 'scheduled').flatMap(({ id, runs }) => {
    const logged = history.end.events.filter(({ type, data }) => type === 'task.requested' && data.from === id);
    return logged.length === runs ? [] : [`the schedule ${id} has run ${runs} times, and made ${logged.length} tasks`];
  });

const noTrouble: Rule = (history) => history.end.troubles;

export const END_RULES = {
  'a task has one outcome': oneOutcome,
  'an outcome is the right one': rightOutcome,
  'what is acknowledged does not come again': acknowledgedForGood,
  'a message is read once': everyNote,
  'a message is on NATS once': onNatsOnce,
  'a stream misses nothing': streamMissesNothing,
  'a schedule makes one task a run': everyRun,
  'nothing goes wrong by itself': noTrouble,
} satisfies Record<string, Rule>;
