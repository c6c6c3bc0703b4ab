import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { fingerprint } from '../json/fingerprint.ts';
import type { Json } from '../json/json.ts';
import { refuseTooLarge } from '../json/size.ts';
import { answerCheck } from './answer-schema.ts';
import { steered } from './steer.ts';
import type { Task } from './task.ts';
import { giveInput } from './transitions.ts';

/** The answer to what the holder asked. The very same one again is a duplicate. */
export const answerTask = async (
  deps: Deps,
  caller: Caller,
  id: string,
  answer: Json,
): Promise<{ duplicate: boolean; task: Task }> => {
  refuseTooLarge('The answer', answer, deps.config.limits.carriedBytes);
  const refuseUnsuitable = await answerCheck();
  let duplicate = false;
  const task = await steered(deps, caller, id, (asked) => {
    duplicate = asked.status !== 'input_required' && isGiven(asked, answer);
    if (duplicate) return 'unchanged';
    if (asked.status === 'input_required') refuseUnsuitable(asked, answer);
    return giveInput(asked, { now: deps.clock.now(), limits: deps.config.tasks }, answer);
  });
  return { duplicate, task };
};

const isGiven = (task: Task, answer: Json): boolean =>
  task.answer !== undefined && fingerprint(task.answer) === fingerprint(answer);
