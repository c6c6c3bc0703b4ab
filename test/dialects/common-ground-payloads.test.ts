import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { parsePayload } from '../../shared/dialects/codec-helpers.ts';
import * as payloads from '../../shared/dialects/common-ground/payloads.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { JsonObject } from '../../shared/kernel/json/json.ts';
import type { Log } from '../../shared/kernel/log.ts';
import { eventually } from '../support/eventually.ts';
import { called, eventsOf, groundAgent, reports, Worker } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

const ofTurn = { agent_turn_id: 'turn_1', turn_epoch: 1, agent_id: 'worker' };

interface Family {
  section: string;
  schema: z.ZodType;
  whole: JsonObject;
  required: string[];
  forbidden?: string[];
  /** Subjects of messages to Parley. */
  subjects?: string[];
  /** Event that Parley publishes. */
  event?: string;
}

const FAMILIES: Family[] = [
  {
    section: '5.1 wakeup',
    schema: payloads.WakeupPayload,
    whole: { agent_id: 'worker', inbox_id: 'i', reason: 'r', metadata: {} },
    required: ['agent_id'],
    subjects: ['cmd.agent.worker.wakeup'],
    event: 'cmd.agent.wakeup',
  },
  {
    section: '5.2 tool_result',
    schema: payloads.ToolReportPayload,
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
    subjects: ['cmd.agent.worker.tool_result', 'cmd.agent.worker.timeout'],
  },
  {
    section: '5.3 stop',
    schema: payloads.StopPayload,
    whole: { ...ofTurn, reason: 'r' },
    required: ['agent_id', 'agent_turn_id', 'turn_epoch'],
    subjects: ['cmd.agent.worker.stop'],
  },
  {
    section: '5.4 cmd.tool, and 5.5 cmd.sys.pmo.internal',
    schema: payloads.ToolCommandPayload,
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
    subjects: ['cmd.tool.search.execute', 'cmd.sys.pmo.internal.fork_join', 'cmd.sys.pmo.internal.delegate'],
  },
  {
    section: '5.6 step',
    schema: payloads.StepEventPayload,
    whole: { agent_turn_id: 't', step_id: 's', phase: 'planning', metadata: { timing: {} } },
    required: ['agent_turn_id', 'step_id', 'phase'],
    event: 'evt.agent.step',
  },
  {
    section: '5.7 task',
    schema: payloads.TaskEventPayload,
    whole: { agent_turn_id: 't', status: 'failed', error: 'e', error_code: 'c', deliverable_card_id: 'd', stats: {} },
    required: ['agent_turn_id', 'status'],
    event: 'evt.agent.task',
  },
  {
    section: '5.8 chunk',
    schema: payloads.ChunkPayload,
    whole: { agent_turn_id: 't', step_id: 's', chunk_type: 'content', content: 'x', index: 0, metadata: {} },
    required: ['agent_turn_id', 'step_id', 'chunk_type'],
    subjects: ['str.agent.worker.chunk'],
  },
  {
    section: '5.9 state',
    schema: payloads.StateEventPayload,
    whole: { ...ofTurn, status: 'running', updated_at: '2026-03-01T12:00:00Z', output_box_id: 'b', metadata: {} },
    required: ['agent_id', 'agent_turn_id', 'status', 'turn_epoch', 'updated_at'],
    event: 'evt.agent.state',
  },
  {
    section: '5.10 ui action',
    schema: payloads.UiActionPayload,
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
    subjects: ['cmd.sys.ui.action'],
  },
  {
    section: '5.11 ui action ack',
    schema: payloads.UiActionAckPayload,
    whole: { action_id: 'a', agent_id: 'ui', status: 'busy', message_id: 'm', error_code: 'c', error: 'e' },
    required: ['action_id', 'agent_id', 'status'],
    event: 'evt.sys.ui.action_ack',
  },
];

const violationOf = (schema: z.ZodType, payload: JsonObject): ParleyError => {
  try {
    parsePayload(schema, payload, 'The payload');
  } catch (error) {
    if (error instanceof ParleyError) return error;
  }
  throw new Error('it was accepted');
};

describe('CommonGround payload schemas', () => {
  for (const { section, schema, whole, required, forbidden = [] } of FAMILIES) {
    it(`accepts payload ${section} with all fields, with the required fields alone, and with unknown fields`, () => {
      parsePayload(schema, whole, 'It');
      parsePayload(
        schema,
        Object.fromEntries(Object.entries(whole).filter(([field]) => required.includes(field))),
        'It',
      );
      parsePayload(schema, { ...whole, extra: 1 }, 'It');
    });
    for (const field of required) {
      it(`rejects payload ${section} without a valid ${field}, and names the field`, () => {
        const { [field]: _, ...rest } = whole;
        for (const payload of [rest, { ...whole, [field]: null }, { ...whole, [field]: [] }]) {
          const { code, issues = [] } = violationOf(schema, payload);
          assert.equal(code, 'protocol_violation');
          assert.deepEqual([...new Set(issues.map(({ path }) => path))], [`payload.${field}`]);
        }
      });
    }
    for (const field of forbidden) {
      it(`rejects payload ${section} with the forbidden field ${field}, and names the field that replaces it`, () => {
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

describe('CommonGround messages', () => {
  it('rejects a message without a required field or with a forbidden one, without a trace', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'worker');
    const refused = async (subject: string, field: string, payload: JsonObject) => {
      const sent = { subject: `cg.v1r3.default.public.${subject}`, headers: { 'CG-Recursion-Depth': '0' }, payload };
      const { status, body } = await parley.admin.call('POST', '/v1/messages', sent);
      const paths = body.issues?.map(({ path }: { path: string }) => path);
      assert.deepEqual([status, body.code, paths], [422, 'protocol_violation', [`payload.${field}`]], subject);
    };
    for (const { whole, required, forbidden = [], subjects = [] } of FAMILIES) {
      for (const subject of subjects) {
        for (const field of required) await refused(subject, field, { ...whole, [field]: undefined });
        for (const field of forbidden) await refused(subject, field, { ...whole, [field]: {} });
      }
    }
    assert.deepEqual(await eventsOf(parley.admin, 'evt.*', 'cmd.*'), []);
  });

  it('accepts a call with keys that begin with CG-, and logs them', async (t) => {
    const logged: string[] = [];
    const log: Log = (level, message, facts) => logged.push(`${level} ${message} ${JSON.stringify(facts)}`);
    const parley = await testParley(t, { log });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const subject = 'cg.v1r3.default.public.cmd.agent.worker.turn';
    const call = (more: object) => ({ subject, payload: { ...called('worker'), 'CG-Foo': 'x', ...more } });
    const { status, body } = await parley.admin.call('POST', '/v1/messages', call({}));
    assert.equal(status, 202, JSON.stringify(body));
    assert.equal((await worker.take()).agent_turn_id, body.agentTurnId);
    assert.match(logged.join('\n'), /warn payload contains header keys .*CG-Foo/);
    const typo = await parley.admin.call('POST', '/v1/messages', call({ contextBox: 'b' }));
    assert.deepEqual([typo.body.code, typo.body.issues[0].path], ['protocol_violation', 'payload.contextBox']);
  });

  it('publishes messages with every required field', async (t) => {
    const parley = await testParley(t);
    await parley.admin.call('PUT', '/v1/tools/search', { target_subject: 'cmd.tool.search.execute', ui_allowed: true });
    const worker = new Worker(await groundAgent(parley, 'worker', { workerTarget: 'ui_worker' }));
    const subject = 'cg.v1r3.default.public.cmd.sys.ui.action';
    const payload = { agent_id: 'worker', tool_name: 'search', args: {} };
    for (const action_id of ['a-1', 'a-2']) {
      const sent = { subject, payload: { ...payload, action_id } };
      assert.equal((await parley.admin.call('POST', '/v1/messages', sent)).status, 202);
    }
    const held = await worker.begin();
    await worker.ok(held, 'step', { step_id: 's1', phase: 'planning' });
    await worker.suspend(held, ['c1']);
    await reports(parley.admin, 'worker', held, 'c1');
    await worker.deliver(await worker.take());
    const told = await eventually(async () => {
      const events = await eventsOf(parley.admin, 'evt.*', 'cmd.*');
      const statuses = events.map(({ data }) => data.payload.status);
      for (const status of ['done', 'busy', 'success']) assert.ok(statuses.includes(status), status);
      return events;
    });
    for (const { schema, event } of FAMILIES.filter((family) => family.event !== undefined)) {
      const some = told.filter(({ type }) => type === event);
      assert.ok(some.length > 0, `${event} is told`);
      for (const { data } of some) parsePayload(schema, data.payload, event ?? '');
    }
  });
});
