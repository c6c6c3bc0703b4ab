import type { JsonObject } from '../../kernel/json/json.ts';
import type { Item, Ref } from '../../ports/records.ts';

/** Something that agents can have done for them by whoever takes the commands of its subject. */
export interface Tool extends Item {
  sk: 'tool';
  project: string;
  name: string;
  description: string;
  /** A JSON Schema. */
  parameters: JsonObject;
  /** From the category on: `cmd.tool.search.execute`, or `cmd.sys.pmo.internal.fork_join`. */
  targetSubject: string;
  /** Whether the turn goes on after it, or ends with it. */
  afterExecution: AfterExecution;
  /** Whether a user interface may call it. */
  uiAllowed: boolean;
  options: JsonObject;
  updatedAt: number;
}

export const TOOL_NAME_PATTERN = /^(?!\.\.?$)[A-Za-z0-9_.-]{1,64}$/;
export const toolRef = (project: string, name: string): Ref<Tool> => ({ pk: `${project}#tool#${name}`, sk: 'tool' });
export const toolListKey = (project: string): string => `${project}#tools`;
/** What becomes of the turn when a tool has reported: it goes on once all have, or ends. */
export const AFTER_EXECUTION = ['suspend', 'terminate'] as const;

export type AfterExecution = (typeof AFTER_EXECUTION)[number];
