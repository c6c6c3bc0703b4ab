import { AFTER_EXECUTION, type AfterExecution } from '../identity/tools/tool.ts';
import { uuidFromSeed } from '../kernel/ids.ts';
import { isObject, type JsonObject } from '../kernel/json/json.ts';

/** One call of a tool, and the turn that waits for it. */
export interface ToolCall {
  agent: string;
  turn: string;
  epoch: number;
  toolCall: string;
  depth: number;
  channel: string;
  afterExecution: AfterExecution;
  /** The agents whose turns, or tasks, wait for the one that calls. */
  callers?: string[];
  /** Of the turn that calls, and of those that do the work of the call. */
  protocolVersion?: string;
  /** Headers of each turn that is created for it later. */
  headers?: JsonObject;
}

/** Everybody who waits for the work of the call, the nearest last. */
export const listWaitingAgents = ({ callers = [], agent }: ToolCall): string[] => [...callers, agent];

/** The id of whatever does the work of a call: a task, a batch, or the correlation id of a turn. */
export const toToolCallTaskId = (turn: string, toolCall: string): string => uuidFromSeed(['call', turn, toolCall]);

/** What a task keeps of the call, or of the turn, that it is the work of. */
export interface TurnTaskLink extends JsonObject {
  subject?: string;
  headers?: JsonObject;
  channel: string;
  depth: number;
  /** The command came in on its subject on NATS. */
  isAlreadyPublished?: true;
  call?: JsonObject;
  /** The turn of an agent that speaks another protocol. */
  turn?: string;
  protocolVersion?: string;
}

export const getToolCall = (link: TurnTaskLink | undefined): ToolCall | undefined =>
  isToolCall(link?.call) ? link.call : undefined;

const isToolCall = (value: unknown): value is ToolCall & JsonObject =>
  isObject(value) && typeof value.toolCall === 'string';

/** What a result itself wants to happen: `__cg_control.after_execution`, where it is there and one of the two. */
export const parseAfterExecutionControl = (result: unknown): AfterExecution | undefined => {
  const control = isObject(result) ? result.__cg_control : undefined;
  return isObject(control) ? parseAfterExecution(control.after_execution) : undefined;
};

export const parseAfterExecution = (word: unknown): AfterExecution | undefined =>
  AFTER_EXECUTION.find((known) => known === word);
