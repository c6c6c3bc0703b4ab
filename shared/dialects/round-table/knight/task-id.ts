import { toUuid } from '../../../kernel/ids.ts';

/** What can stand in a subject. */
const SUBJECT_TOKENS = /^[\w-]+(\.[\w-]+)*$/;

export const toKnightTaskId = (taskId: string): string => (SUBJECT_TOKENS.test(taskId) ? taskId : toUuid(taskId));
