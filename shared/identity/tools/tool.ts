import type { JsonObject } from '../../kernel/json/json.ts';
import type { Item, Ref } from '../../ports/records.ts';

export interface Tool extends Item {
  sk: 'tool';
  project: string;
  name: string;
  description: string;
  parameters: JsonObject;
  /** From the category on: `cmd.tool.search.execute`. */
  targetSubject: string;
  afterExecution: AfterExecution;
  uiAllowed: boolean;
  options: JsonObject;
  updatedAt: number;
}

export const TOOL_NAME_PATTERN = /^(?!\.\.?$)[A-Za-z0-9_.-]{1,64}$/;
export const toolRef = (project: string, name: string): Ref<Tool> => ({ pk: `${project}#tool#${name}`, sk: 'tool' });
export const toolListKey = (project: string): string => `${project}#tools`;
export const AFTER_EXECUTION = ['suspend', 'terminate'] as const;

export type AfterExecution = (typeof AFTER_EXECUTION)[number];
