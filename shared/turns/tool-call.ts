import { idFrom } from '../ids.ts';
import { isObject, type JsonObject } from '../json/json.ts';
import { AFTER_EXECUTION, type AfterExecution } from './head.ts';

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
}

/** Everybody who waits for the work of the call, the nearest last. */
export const waitersFor = ({ callers = [], agent }: ToolCall): string[] => [...callers, agent];

/** The id of whatever does the work of a call: a task, a batch, or the correlation id of a turn. */
export const callIdOf = (turn: string, toolCall: string): string => idFrom(`${turn}/${toolCall}`);

/** What a task keeps of the call, or of the turn, that it is the work of. */
export interface Ground extends JsonObject {
  subject?: string;
  headers?: JsonObject;
  channel: string;
  depth: number;
  call?: JsonObject;
  /** The turn of an agent that speaks another protocol. */
  turn?: string;
}

export const groundIn = (carried: JsonObject): Ground | undefined =>
  isGround(carried.commonGround) ? carried.commonGround : undefined;

/** Only Parley itself writes it. */
const isGround = (value: unknown): value is Ground => isObject(value) && typeof value.channel === 'string';

export const callIn = (ground: Ground): ToolCall | undefined => (isCall(ground.call) ? ground.call : undefined);
const isCall = (value: unknown): value is ToolCall & JsonObject =>
  isObject(value) && typeof value.toolCall === 'string';

/** What a result itself wants to happen: `__cg_control.after_execution`, where it is there and one of the two. */
export const controlIn = (result: unknown): AfterExecution | undefined => {
  const control = isObject(result) ? result.__cg_control : undefined;
  return isObject(control) ? afterExecutionIn(control.after_execution) : undefined;
};

export const afterExecutionIn = (word: unknown): AfterExecution | undefined =>
  AFTER_EXECUTION.find((known) => known === word);
