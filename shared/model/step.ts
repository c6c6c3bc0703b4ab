import { ParleyError } from '../kernel/errors.ts';
import type { Change } from '../ports/conditions.ts';
import type { StoredContent } from '../storage/content.ts';
import type { Task } from './task.ts';

/**
 * A finished step of a task, which later attempts do not repeat. Names are paths in conditions, which dots separate.
 */
export const STEP_NAME = /^[^.\p{Cc}]{1,128}$/u;
export const STEP_NAME_RULE = 'must be 1 to 128 characters without dots and control characters';

/** Every write bills the whole record: names and references of 200 steps take about 20 KB. */
export const MAX_STEPS = 200;
/** A larger value is stored as a blob. */
export const INLINE_STEP_BYTES = 512;

export const getStep = ({ steps = {} }: Pick<Task, 'steps'>, name: string): StoredContent | undefined =>
  Object.hasOwn(steps, name) ? steps[name] : undefined;

/** DynamoDB cannot set a path in an absent map: the first step creates it. */
export const buildStepChange = (
  { id, steps }: Pick<Task, 'id' | 'steps'>,
  name: string,
  content: StoredContent,
): Change | ParleyError => {
  if (Object.keys(steps ?? {}).length >= MAX_STEPS) {
    return new ParleyError('too_large', `The task ${id} has ${MAX_STEPS} steps, which is the most.`, {
      details: { limit: MAX_STEPS },
    });
  }
  return { set: steps ? { [`steps.${name}`]: content } : { steps: { [name]: content } } };
};
