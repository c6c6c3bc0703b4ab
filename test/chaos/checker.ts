import { END_RULES } from './checker-ends.ts';
import { TASK_RULES } from './checker-tasks.ts';
import { TURN_RULES } from './checker-turns.ts';
import type { History } from './history.ts';

export interface Violation {
  rule: RuleName;
  text: string;
}

const RULES = { ...TASK_RULES, ...TURN_RULES, ...END_RULES };
export type RuleName = keyof typeof RULES;
export const RULE_NAMES = Object.keys(RULES) as RuleName[];

/** Reads a whole history and gives all that should not have happened. It knows nothing of how the system works. */
export const check = (history: History): Violation[] =>
  RULE_NAMES.flatMap((rule) => RULES[rule](history).map((text) => ({ rule, text })));
