import { hash } from 'node:crypto';
import { isTask } from '../model/task.ts';
import type { RecordChange } from '../ports/records.ts';

/** One of so many batches of changes, and one of so many changes, is followed by a roll-up. */
const BATCHES_PER_ROLL_UP = 256;
const CHANGES_PER_ROLL_UP = 1000;

/**
 * The projects whose events are to be counted now. It is drawn by lot, from the changes themselves, because nothing remembers how many
 * came before.
 */
export const listProjectsToRollUp = (changes: readonly RecordChange[]): string[] => {
  const byProject = new Map<string, boolean>();
  for (const { after } of changes) {
    if (!after || !isTask(after)) continue;
    const isFirst = !byProject.has(after.project);
    const lot = hash('md5', `${after.id}#${after.v}`, 'buffer').readUInt16BE();
    const chance = 65_536 / CHANGES_PER_ROLL_UP + (isFirst ? 65_536 / BATCHES_PER_ROLL_UP : 0);
    byProject.set(after.project, lot < chance || byProject.get(after.project) === true);
  }
  return [...byProject].flatMap(([project, isDrawn]) => (isDrawn ? project : []));
};
