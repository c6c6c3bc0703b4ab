import { AFTER_EXECUTION, type AfterExecution } from '../identity/tools/tool.ts';
import { uuidFromSeed } from '../kernel/ids.ts';
import { isObject, type JsonObject } from '../kernel/json/json.ts';

/** A tool call, and the turn that waits for it. */
export interface ToolCall {
  agent: string;
  turn: string;
  epoch: number;
  toolCall: string;
  depth: number;
  channel: string;
  afterExecution: AfterExecution;
  /** Agents whose turns or tasks wait for the caller. */
  callers?: string[];
  /** Of the calling turn, and of turns that execute the call. */
  protocolVersion?: string;
  /** Headers of each turn that is created for it later. */
  headers?: JsonObject;
}

/** All agents that wait for the call, the nearest last. */
export const listWaitingAgents = ({ callers = [], agent }: ToolCall): string[] => [...callers, agent];

/** The id of what executes a call: a task, a batch, or the correlation id of a turn. */
export const toToolCallTaskId = (turn: string, toolCall: string): string => uuidFromSeed(['call', turn, toolCall]);

/** Stored with a task that executes a call or a turn. */
export interface TurnTaskLink extends JsonObject {
  subject?: string;
  headers?: JsonObject;
  channel: string;
  depth: number;
  /** Its readers on NATS have it from the caller. */
  isAlreadyPublished?: true;
  call?: JsonObject;
  /** Set if the agent has another dialect. */
  turn?: string;
  protocolVersion?: string;
}

export const getToolCall = (link: TurnTaskLink | undefined): ToolCall | undefined =>
  isToolCall(link?.call) ? link.call : undefined;

const isToolCall = (value: unknown): value is ToolCall & JsonObject =>
  isObject(value) && typeof value.toolCall === 'string';

/** The result may decide: `__cg_control.after_execution`. */
export const parseAfterExecutionControl = (result: unknown): AfterExecution | undefined => {
  const control = isObject(result) ? result.__cg_control : undefined;
  return isObject(control) ? parseAfterExecution(control.after_execution) : undefined;
};

export const parseAfterExecution = (word: unknown): AfterExecution | undefined =>
  AFTER_EXECUTION.find((known) => known === word);
