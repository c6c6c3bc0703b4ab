import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { refusedWithoutTrace } from '../http/refusal.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

type Fields = Record<string, unknown>;

const update = (overrides: Fields = {}) => mrMessage('status-update', 'sender', 'reader', overrides);
const withPayload = (type: string, payload: Fields) => {
  const message = mrMessage(type, 'sender', 'reader');
  return { ...message, payload: { ...message.payload, ...payload } };
};
const without = (field: string) => {
  const { [field]: _gone, ...rest } = update();
  return rest;
};

const REFUSED: [what: string, message: object, paths: string[]][] = [
  ...['version', 'msg_id', 'from', 'to', 'timestamp', 'sequence', 'type', 'payload'].map(
    (field): [string, object, string[]] => [`no ${field}`, without(field), [field]],
  ),
  ['a version of two numbers', update({ version: '1.0' }), ['version']],
  ['an id with capitals', update({ msg_id: 'msg_A3F5D8B2' }), ['msg_id']],
  ['an id that is too short', update({ msg_id: 'msg_a3f5d8b' }), ['msg_id']],
  ['an id without its prefix', update({ msg_id: 'a3f5d8b2' }), ['msg_id']],
  ['a sender with capitals', update({ from: 'Sender' }), ['from']],
  ['an empty recipient', update({ to: '' }), ['to']],
  ['a recipient with a long name', update({ to: 'a'.repeat(65) }), ['to']],
  ['a time without a zone', update({ timestamp: '2026-02-08T15:00:00' }), ['timestamp']],
  ['a time that is a number', update({ timestamp: 5 }), ['timestamp']],
  ['a sequence of 0', update({ sequence: 0 }), ['sequence']],
  ['half a sequence', update({ sequence: 1.5 }), ['sequence']],
  ['a sequence in text', update({ sequence: '1' }), ['sequence']],
  ['a type with an underscore', update({ type: 'status_update' }), ['type']],
  ['a payload that is a list', update({ payload: [] }), ['payload']],
  ['an acknowledgement in text', update({ requires_ack: 'yes' }), ['requires_ack']],
  ['a correlation that is no id', update({ correlation_id: 'the last one' }), ['correlation_id']],
  ['a priority of 11', update({ priority: 11 }), ['priority']],
  ['a priority of -1', update({ priority: -1 }), ['priority']],
  ['several faults', update({ sequence: 0, priority: 11, to: '' }), ['to', 'sequence', 'priority']],
  ['an unknown status', withPayload('status-update', { status: 'done' }), ['payload.status']],
  ['progress in percent', withPayload('status-update', { progress: 65 }), ['payload.progress']],
  ['confidence below 0', withPayload('status-update', { confidence: -0.1 }), ['payload.confidence']],
  ['blockers in one text', withPayload('status-update', { blockers: 'a, b' }), ['payload.blockers']],
  ['no task', withPayload('task-delegation', { task: undefined }), ['payload.task']],
  ['an empty task', withPayload('task-delegation', { task: '' }), ['payload.task']],
  ['files of numbers', withPayload('task-delegation', { context: { files: [1] } }), ['payload.context.files[0]']],
  [
    'a deadline in words',
    withPayload('task-delegation', { context: { deadline: 'soon' } }),
    ['payload.context.deadline'],
  ],
  [
    'a deadline before the message',
    withPayload('task-delegation', { context: { deadline: '2026-02-08T14:59:59Z' } }),
    ['payload.context.deadline'],
  ],
  [
    'a requester that is no agent',
    withPayload('task-delegation', { metadata: { original_requester: 'The Boss' } }),
    ['payload.metadata.original_requester'],
  ],
  ['an unknown outcome', withPayload('result', { status: 'completed' }), ['payload.status']],
  ['a coverage of 92', withPayload('result', { metrics: { test_coverage: 92 } }), ['payload.metrics.test_coverage']],
  ['a negative duration', withPayload('result', { metrics: { duration_ms: -1 } }), ['payload.metrics.duration_ms']],
  ['issues in one text', withPayload('result', { issues: 'none' }), ['payload.issues']],
  ['an unknown action', withPayload('command', { action: 'restart' }), ['payload.action']],
  ['a timeout of 0', withPayload('command', { parameters: { timeout_ms: 0 } }), ['payload.parameters.timeout_ms']],
  ['an unknown health', withPayload('heartbeat', { health: 'fine' }), ['payload.health']],
  ['a CPU usage of 2', withPayload('heartbeat', { metrics: { cpu_usage: 2 } }), ['payload.metrics.cpu_usage']],
  ['negative memory', withPayload('heartbeat', { metrics: { memory_mb: -1 } }), ['payload.metrics.memory_mb']],
  [
    'half an active task',
    withPayload('heartbeat', { metrics: { active_tasks: 0.5 } }),
    ['payload.metrics.active_tasks'],
  ],
  ['a negative uptime', withPayload('heartbeat', { uptime_ms: -1 }), ['payload.uptime_ms']],
];

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const sender = await parley.agent('sender', { ...messageRouting, role: 'coordinator' });
  await parley.agent('reader', messageRouting);
  const refused = (code: ParleyErrorCode, message: object) =>
    refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, () =>
      // Without an id only the header tells the dialect.
      sender.call('POST', '/v1/messages', message, { 'parley-dialect': 'message-routing' }),
    );
  return { parley, sender, refused };
};

describe('Message Routing message validation', () => {
  it('rejects a bad message in the terms of the document, logs it, and leaves no trace', async (t) => {
    const { parley, refused } = await start(t);
    for (const [what, message, paths] of REFUSED) {
      await t.test(`rejects a message with ${what}`, async () => {
        // The log takes one line per agent and minute.
        parley.clock.advance(60_000);
        const before = parley.logged.length;
        const { body } = await refused('invalid_message', message);
        assert.deepEqual(
          body.issues.map(({ path }: { path: string }) => path),
          paths,
        );
        const { error, msg_id, issues, action } = body.messageRouting;
        const given = 'msg_id' in message ? message.msg_id : null;
        assert.deepEqual([error, msg_id, action], ['VALIDATION_FAILED', given, 'Message discarded and logged']);
        assert.equal(issues.length, paths.length);
        for (const [at, path] of paths.entries()) assert.ok(issues[at].includes(path), issues[at]);
        assert.ok(parley.logged.slice(before).includes('warn message rejected: invalid'));
      });
    }
  });

  it('reports missing and invalid fields as the document does', async (t) => {
    const { refused } = await start(t);
    const { body } = await refused('invalid_message', without('timestamp'));
    assert.deepEqual(body.messageRouting.issues, ['Missing required field: timestamp']);
    const inside = await refused('invalid_message', update({ payload: { progress: 2 } }));
    assert.deepEqual(inside.body.messageRouting.issues, [
      'Missing required field: payload.status',
      'Invalid payload.progress: must be 0 to 1',
    ]);
    const type = await refused('invalid_message', update({ type: 'status_update' }));
    assert.match(type.body.messageRouting.issues[0], /^Invalid type: must be one of status-update, /);
  });

  it('rejects a message of another major version, to an unknown recipient, from another sender, or too large', async (t) => {
    const { refused } = await start(t);
    await refused('unsupported_version', update({ version: '2.0.0' }));
    await refused('unknown_agent', update({ to: 'nobody' }));
    await refused('unknown_agent', mrMessage('task-delegation', 'sender', 'nobody'));
    await refused('from_mismatch', update({ from: 'reader' }));
    const { body } = await refused('too_large', update({ payload: { status: 'blocked', message: 'é'.repeat(5200) } }));
    assert.deepEqual([body.limit, body.messageRouting.error], [10_240, 'VALIDATION_FAILED']);
  });

  it('recognizes a message by its id, and accepts one of exactly the maximum size', async (t) => {
    const { sender } = await start(t);
    const { body } = await sender.send({ msg_id: 5 });
    assert.equal(body.messageRouting.error, 'VALIDATION_FAILED');
    const empty = update({ payload: { status: 'blocked', message: '' } });
    const room = 10_240 - JSON.stringify(empty).length;
    const full = { ...empty, payload: { ...empty.payload, message: 'x'.repeat(room) } };
    assert.equal((await sender.send(full)).status, 202);
    const over = { ...full, msg_id: 'msg_00000001', payload: { ...full.payload, message: 'x'.repeat(room + 1) } };
    assert.equal((await sender.send(over)).status, 413);
  });
});
