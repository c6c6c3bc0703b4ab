/** A finished part of a task, which no later attempt repeats. Names are paths of conditions, whose separator is the dot. */
export const STEP_NAME = /^[^.\p{Cc}]{1,128}$/u;
export const STEP_NAME_RULE = 'must be 1 to 128 characters without dots and control characters';
