import assert from 'node:assert/strict';
import type { JsMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import * as z from 'zod';
import type { Held } from './ground.ts';

/** As the models of the software read it: another word, type or field raises there. */
const optionalText = z.string().nullish();
const metadata = z.record(z.string(), z.unknown()).optional();

const EVENTS = {
  step: z.object({
    agent_turn_id: z.string(),
    step_id: z.string(),
    phase: z.enum(['started', 'planning', 'executing', 'completed', 'failed']),
    metadata,
  }),
  task: z.object({
    agent_turn_id: z.string(),
    status: z.enum(['success', 'failed', 'canceled', 'timeout', 'partial']),
    output_box_id: optionalText,
    deliverable_card_id: optionalText,
    tool_result_card_id: optionalText,
    error: optionalText,
    error_code: optionalText,
    stats: metadata,
  }),
  state: z.object({
    agent_id: z.string(),
    agent_turn_id: z.string(),
    status: z.enum(['idle', 'dispatched', 'running', 'suspended']),
    turn_epoch: z.int(),
    updated_at: z.string(),
    output_box_id: optionalText,
    metadata,
  }),
} as const;

export const ToolResultContent = z.strictObject({
  status: z.enum(['success', 'failed', 'canceled', 'timeout', 'partial']),
  after_execution: z.enum(['suspend', 'terminate']),
  result: z.unknown(),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
});

/** Whose a command is. */
export interface Identity {
  agent_id: string;
  agent_turn_id: string;
  turn_epoch: number;
  tool_call_id?: string;
  step_id?: string;
}

export const identityOf = (agent: string, { agent_turn_id, turn_epoch }: Held, call?: string): Identity => ({
  agent_id: agent,
  agent_turn_id,
  turn_epoch,
  ...(call !== undefined && { tool_call_id: call, step_id: 's1' }),
});

/** How one version of the software writes and reads what travels on NATS. */
export interface GroundSoftware {
  version: string;
  /** A command as it writes it: None where nobody set a field, and the same sender in all its services. */
  write(identity: Identity, payload: object): { payload: object; headers: MsgHdrs };
  readToolCommand(message: JsMsg): { identity: Identity; card: string; afterExecution: string };
  readWakeup(message: JsMsg): string;
}

const withSender = (more: Record<string, string>): MsgHdrs => {
  const said = headers();
  const own = { 'CG-Sender': 'cg-nats-client', 'CG-Timestamp': String(Date.now()), 'CG-Msg-Type': 'dict' };
  for (const [name, value] of Object.entries({ ...own, ...more })) said.set(name, value);
  return said;
};

const V1R3_COMMAND = z.looseObject({
  tool_call_id: z.string().min(1),
  agent_turn_id: z.string().min(1),
  turn_epoch: z.int(),
  agent_id: z.string().min(1),
  tool_call_card_id: z.string(),
  after_execution: z.string(),
});

const V1R3: GroundSoftware = {
  version: 'v1r3',
  write: (identity, payload) => ({
    payload: {
      project_id: 'default',
      channel: 'public',
      ...identity,
      context_box_id: null,
      ...payload,
    },
    headers: withSender({ 'CG-Recursion-Depth': '0' }),
  }),
  readToolCommand: (message) => {
    const { tool_call_card_id: card, after_execution, ...said } = V1R3_COMMAND.parse(message.json());
    const { agent_id, agent_turn_id, turn_epoch, tool_call_id } = said;
    return { identity: { agent_id, agent_turn_id, turn_epoch, tool_call_id }, card, afterExecution: after_execution };
  },
  readWakeup: (message) => z.looseObject({ agent_id: z.string().min(1) }).parse(message.json()).agent_id,
};

const V1R4_COMMAND = z.strictObject({
  tool_call_card_id: z.string(),
  tool_name: z.string().nullish(),
  after_execution: z.string(),
});

const CONTROL_FIELDS = ['agent_id', 'agent_turn_id', 'turn_epoch', 'tool_call_id', 'step_id', 'channel_id'];

/** Every command and event is checked so on its way in. */
const readIngress = (message: JsMsg): Identity => {
  const [, version, project, channel, category, component, target, suffix] = message.subject.split('.');
  const said = (name: string): string => message.headers?.get(name) ?? '';
  const payload = Object.keys(message.json<object>());
  if (category === 'cmd')
    assert.deepEqual([payload.filter((key) => CONTROL_FIELDS.includes(key)), version], [[], 'v1r4']);
  assert.deepEqual([said('CG-Project-Id'), said('CG-Channel-Id')], [project, channel]);
  if (component === 'agent' && suffix !== 'wakeup') assert.equal(said('CG-Agent-Id'), target);
  assert.notEqual(said('CG-Agent-Id'), '');
  assert.match(said('CG-Turn-Epoch'), /^\d+$/);
  return {
    agent_id: said('CG-Agent-Id'),
    agent_turn_id: said('CG-Turn-Id'),
    turn_epoch: Number(said('CG-Turn-Epoch')),
    tool_call_id: said('CG-Tool-Call-Id'),
  };
};

const V1R4: GroundSoftware = {
  version: 'v1r4',
  write: ({ agent_id, agent_turn_id, turn_epoch, tool_call_id, step_id }, payload) => ({
    payload,
    headers: withSender({
      'CG-Project-Id': 'default',
      'CG-Channel-Id': 'public',
      'CG-Agent-Id': agent_id,
      ...(agent_turn_id !== '' && { 'CG-Turn-Id': agent_turn_id }),
      'CG-Turn-Epoch': String(turn_epoch),
      ...(tool_call_id !== undefined && { 'CG-Tool-Call-Id': tool_call_id, 'CG-Recursion-Depth': '0' }),
      ...(step_id !== undefined && { 'CG-Step-Id': step_id }),
    }),
  }),
  readToolCommand: (message) => {
    const { tool_call_card_id: card, after_execution } = V1R4_COMMAND.parse(message.json());
    return { identity: readIngress(message), card, afterExecution: after_execution };
  },
  readWakeup: (message) => readIngress(message).agent_id,
};

export const GROUND_SOFTWARE: readonly GroundSoftware[] = [V1R3, V1R4];

/** An event of a turn, read as strictly as the software does. */
export const readTurnEvent = ({ version }: GroundSoftware, message: JsMsg) => {
  const kind = message.subject.split('.').at(-1);
  if (version === 'v1r4') readIngress(message);
  assert.ok(kind === 'step' || kind === 'task' || kind === 'state', message.subject);
  return { kind, agent: message.subject.split('.')[6], ...EVENTS[kind].parse(message.json()) };
};
