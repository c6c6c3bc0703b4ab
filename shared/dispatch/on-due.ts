import { type Health, healthRef, isHealth } from '../agents/agent.ts';
import { silence } from '../agents/health.ts';
import type { Deps } from '../deps.ts';
import { isNote, type Note, noteRef } from '../notes/note.ts';
import { lapse } from '../notes/note-changes.ts';
import type { Item } from '../ports/records.ts';
import { hurry } from '../tasks/change-task.ts';
import { isTask } from '../tasks/look-up.ts';
import { type Task, taskRef } from '../tasks/task.ts';
import { pass } from '../tasks/time.ts';

/** What time alone does to a record whose due time has come, if nobody wrote to it in between. */
export const onDue = async (deps: Deps, record: Item): Promise<void> => {
  if (isTask(record)) return onTaskDue(deps, record);
  if (isHealth(record)) return onHealthDue(deps, record);
  if (isNote(record)) return onNoteDue(deps, record);
  throw new Error(`nothing is known to do when ${record.pk} ${record.sk} is due`);
};

/** A write in between refuses the change; if the record is then still due, it comes again. */
const onTaskDue = async (deps: Deps, task: Task): Promise<void> => {
  const change = pass(task, { now: deps.clock.now(), limits: deps.config.tasks });
  const written = await deps.records.update(taskRef(task.project, task.id), change, deps.newId());
  if (written.outcome === 'written' && !written.again) await hurry(deps, written);
};

const onHealthDue = async (deps: Deps, health: Health): Promise<void> => {
  const change = silence(health, deps.config, deps.clock.now());
  await deps.records.update(healthRef(health.project, health.agent), change, deps.newId());
  deps.directory.forget(health.project, health.agent);
};

const onNoteDue = async (deps: Deps, note: Note): Promise<void> => {
  const ref = noteRef(note.project, note.from, note.id);
  await deps.records.update(ref, lapse(note, deps.clock.now()), deps.newId());
};
