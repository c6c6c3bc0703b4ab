import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import * as payloads from '../../shared/dialects/common-ground/payloads.ts';
import { inShape } from '../../shared/dialects/common-ground/schema.ts';
import { ParleyError } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/json/json.ts';

const ofTurn = { agent_turn_id: 'turn_1', turn_epoch: 1, agent_id: 'merlin' };

interface Family {
  section: string;
  schema: z.ZodType;
  whole: JsonObject;
  required: string[];
  forbidden?: string[];
}

/** Each payload of the document with what it requires and forbids. */
const FAMILIES: Family[] = [
  {
    section: '5.1 wakeup',
    schema: payloads.Wakeup,
    whole: { agent_id: 'merlin', inbox_id: 'i', reason: 'r', metadata: {} },
    required: ['agent_id'],
  },
  {
    section: '5.2 tool_result',
    schema: payloads.ToolReport,
    whole: {
      ...ofTurn,
      tool_call_id: 'c',
      after_execution: 'suspend',
      status: 'partial',
      tool_result_card_id: 'card_1',
    },
    required: [
      'tool_call_id',
      'agent_turn_id',
      'turn_epoch',
      'agent_id',
      'after_execution',
      'status',
      'tool_result_card_id',
    ],
    forbidden: ['result'],
  },
  {
    section: '5.3 stop',
    schema: payloads.Stop,
    whole: { ...ofTurn, reason: 'r' },
    required: ['agent_id', 'agent_turn_id', 'turn_epoch'],
  },
  {
    section: '5.4 cmd.tool',
    schema: payloads.ToolCommand,
    whole: {
      ...ofTurn,
      tool_call_id: 'c',
      tool_name: 'search',
      after_execution: 'terminate',
      tool_call_card_id: 'card_1',
      context_box_id: 'box_1',
      dispatch_requested_at: '2026-03-01T12:00:00Z',
    },
    required: ['tool_call_id', 'agent_turn_id', 'turn_epoch', 'agent_id'],
    forbidden: ['args', 'arguments', 'result'],
  },
  {
    section: '5.6 step',
    schema: payloads.StepEvent,
    whole: { agent_turn_id: 't', step_id: 's', phase: 'think', metadata: { timing: {} } },
    required: ['agent_turn_id', 'step_id', 'phase'],
  },
  {
    section: '5.7 task',
    schema: payloads.TaskEvent,
    whole: { agent_turn_id: 't', status: 'failed', error: 'e', error_code: 'c', deliverable_card_id: 'd', stats: {} },
    required: ['agent_turn_id', 'status'],
  },
  {
    section: '5.8 chunk',
    schema: payloads.Chunk,
    whole: { agent_turn_id: 't', step_id: 's', chunk_type: 'text', content: 'x', index: 0, metadata: {} },
    required: ['agent_turn_id', 'step_id', 'chunk_type', 'content'],
  },
  {
    section: '5.9 state',
    schema: payloads.StateEvent,
    whole: { ...ofTurn, status: 'running', updated_at: '2026-03-01T12:00:00Z', output_box_id: 'b', metadata: {} },
    required: ['agent_id', 'agent_turn_id', 'status', 'turn_epoch', 'updated_at'],
  },
  {
    section: '5.10 ui action',
    schema: payloads.UiAction,
    whole: {
      action_id: 'a',
      agent_id: 'ui',
      tool_name: 't',
      args: {},
      metadata: {},
      message_id: 'm',
      parent_step_id: 's',
    },
    required: ['action_id', 'agent_id', 'tool_name', 'args'],
  },
  {
    section: '5.11 ui action ack',
    schema: payloads.UiActionAck,
    whole: { action_id: 'a', agent_id: 'ui', status: 'busy', message_id: 'm', error_code: 'c', error: 'e' },
    required: ['action_id', 'agent_id', 'status'],
  },
];

const violationOf = (schema: z.ZodType, payload: JsonObject): ParleyError => {
  try {
    inShape(schema, payload, 'The payload');
  } catch (error) {
    if (error instanceof ParleyError) return error;
  }
  throw new Error('it was accepted');
};

describe('the payloads of the protocol', () => {
  for (const { section, schema, whole, required, forbidden = [] } of FAMILIES) {
    it(`${section}: accepted whole, and with the required fields alone, and with more than is known`, () => {
      inShape(schema, whole, 'It');
      inShape(schema, Object.fromEntries(Object.entries(whole).filter(([field]) => required.includes(field))), 'It');
      inShape(schema, { ...whole, extra: 1 }, 'It');
    });
    for (const field of required) {
      it(`${section}: ${field} is required, and is named where it is missing or of another kind`, () => {
        const { [field]: _, ...rest } = whole;
        for (const payload of [rest, { ...whole, [field]: null }, { ...whole, [field]: [] }]) {
          const { code, issues = [] } = violationOf(schema, payload);
          assert.equal(code, 'protocol_violation');
          assert.deepEqual([...new Set(issues.map(({ path }) => path))], [`payload.${field}`]);
        }
      });
    }
    for (const field of forbidden) {
      it(`${section}: ${field} is forbidden, and it is said where it belongs`, () => {
        const { issues = [] } = violationOf(schema, { ...whole, [field]: {} });
        assert.deepEqual(
          issues.map(({ path }) => path),
          [`payload.${field}`],
        );
        assert.match(issues[0]?.message ?? '', /card_id/);
      });
    }
  }
});
