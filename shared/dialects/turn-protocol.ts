import type { Config } from '../config/config.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import type { Task } from '../model/task.ts';
import type { TurnTaskLink } from '../model/tool-call.ts';
import type { TurnEvent } from '../model/turn-event.ts';
import type { UiAction } from '../model/ui-action.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { commonGroundTurns } from './common-ground/turns.ts';

/** For whom a call is made, and what it belongs to. */
export interface CallContext {
  user?: string;
  conversation?: string;
}

/** How turns are told in the dialect that has them. */
export interface TurnProtocol {
  /** The dialect of the tasks that turns become. */
  dialect: string;
  /** What an agent of another dialect reads as the kind of work. */
  taskCapability: string;
  /** The version in which a turn is told: the one of its call, or of its agent's profile, or of the configuration. */
  resolveVersion(config: Config, said: string | undefined, profile?: string): string;
  encodeEvent(event: TurnEvent): ParleyEvent;
  encodeUiAction(action: UiAction): ParleyEvent;
  /** What a task asks for, as the payload of the turn that works on it. */
  encodeTask(task: Task, input: Json, results?: JsonObject): JsonObject;
  toHeaders(context: CallContext): JsonObject | undefined;
  fromHeaders(headers: JsonObject): CallContext;
  /** The context that a call names itself, or else that of the turn that makes it. */
  inheritHeaders(headers: Readonly<Record<string, unknown>>, turn: JsonObject | undefined): JsonObject | undefined;
  /** The headers of a command that is given on: with its true sender, and with what that left out. */
  completeHeaders(
    headers: Readonly<Record<string, unknown>>,
    missing: { at: number; type: string; sender: string; depth: number; version: string },
    trace: Trace,
    context: JsonObject,
  ): JsonObject;
  /** What is said of a task in this dialect alone, as it is kept with the task. */
  toExtensions(said: JsonObject): JsonObject;
  /** The call, or the turn, that a task is the work of; undefined where it has to do with none. */
  findTaskLink(extensions: JsonObject): TurnTaskLink | undefined;
}

export const turnProtocol: TurnProtocol = commonGroundTurns;
