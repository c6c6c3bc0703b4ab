import type { Json, JsonObject } from '../json.ts';

/** One call of an agent, as a handler gets it. */
export interface Turn<Payload = JsonObject> {
  readonly id: string;
  readonly epoch: number;
  readonly channel: string;
  readonly payload: Payload;
  /** How deep it is in the chain of calls. */
  readonly depth: number;
}

export interface LeasedTurn {
  agent_turn_id: string;
  turn_epoch: number;
  /** The call itself, or the reports of the tools that it waited for. */
  inbox: InboxRow[];
}

interface InboxRow {
  message_type?: string;
  payload?: JsonObject;
  tool_call_id?: string;
  status?: string;
  tool_result_card_id?: string;
  [field: string]: unknown;
}

export interface TurnView {
  agent_turn_id: string;
  turn_epoch: number;
  status: string;
  channel_id?: string;
  recursion_depth?: number;
  payload?: JsonObject;
  waiting?: { tool_call_id: string; status: string }[];
  deliverable_card_id?: string;
  error?: string;
  [field: string]: unknown;
}

/** What a turn keeps for its later halves: the results of its steps, and the tools that it calls. */
export interface TurnMemory {
  [key: string]: { value?: Json; call?: ToolCommand };
}

export interface ToolCommand {
  target: string;
  tool: string;
  callId: string;
  cardId: string;
  /** Of its command, where it is none of the tools of agents. */
  topic?: string;
}
