import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import config from '../../parley.config.ts';
import { encodeOutcome, encodeRequest } from '../../shared/dialects/task-format/encode.ts';
import { taskFormatDialect } from '../../shared/dialects/task-format/task-format.ts';
import type { JsonObject } from '../../shared/kernel/json/json.ts';
import { createChildSpan } from '../../shared/kernel/trace.ts';
import type { Command, TaskReport } from '../../shared/model/command.ts';
import type { TaskOutcome } from '../../shared/model/delivery.ts';
import type { Task } from '../../shared/model/task.ts';
import { newTask } from '../tasks/random-task-cycles.ts';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
const object = fc
  .dictionary(fc.string(), json, { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)))
  .filter((value) => !Object.hasOwn(value, '__proto__'));
const agent = fc.constantFrom('requester', 'cook', 'orchestrator');
const time = fc.constantFrom('2025-01-05T10:30:00Z', '2026-02-08T15:00:00.123+02:00');
const id = fc
  .string({ unit: fc.constantFrom(...'aB-_. #~ü水'), minLength: 1, maxLength: 128 })
  .filter((name) => !['.', '..'].includes(name));
const some = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] });

const request = fc.record(
  {
    id,
    type: fc.string({ minLength: 1, maxLength: 128 }),
    payload: object,
    context: some({
      conversationId: fc.string(),
      parentTaskId: id,
      user: fc.string(),
      timestamp: time,
      priority: fc.constantFrom('low', 'normal', 'high', 'urgent'),
      more: json,
    }),
    routing: some({ source: fc.constant('requester'), target: agent, delegationChain: fc.array(agent), more: json }),
    observability: some({ traceId: hex(32), spanId: fc.oneof(hex(16), fc.string()), baggage: object, more: json }),
    retryPolicy: some({
      maxAttempts: fc.integer({ min: 1, max: 10 }),
      backoffType: fc.constantFrom('exponential', 'linear', 'fixed'),
      initialDelay: fc.integer({ min: 0, max: 300_000 }),
    }),
    metadata: object,
    more: json,
  },
  { requiredKeys: ['id', 'type', 'payload'] },
);

const metadata = some({
  startedAt: time,
  completedAt: time,
  duration_ms: fc.nat(),
  agent: fc.constant('cook'),
  retryCount: fc.nat(),
  progress: fc.integer({ min: 0, max: 100 }),
  message: fc.string(),
  more: json,
});
const artifact = fc.record(
  {
    name: fc.constantFrom('a', 'b'),
    type: fc.constantFrom('text/plain', 'image/png'),
    content: fc.string(),
    more: json,
  },
  { requiredKeys: ['name', 'type', 'content'] },
);
const error = fc.record(
  {
    code: fc.constantFrom('MCP_ERROR', 'INVALID_INPUT', 'OWN'),
    message: fc.string(),
    details: object,
    recoverable: fc.boolean(),
    more: json,
  },
  { requiredKeys: ['code', 'message'] },
);
const artifacts = fc.uniqueArray(artifact, { selector: ({ name }) => name });
const status = <T extends object>(value: string, more: fc.Arbitrary<T>) =>
  fc
    .tuple(
      fc.record(
        { id, status: fc.constant(value), metadata, artifacts, more: json },
        { requiredKeys: ['id', 'status'] },
      ),
      more,
    )
    .map(([response, rest]) => ({ ...response, ...rest }));
const end = fc.oneof(
  status('completed', some({ result: json })),
  status('failed', fc.record({ error })),
  status('cancelled', fc.constant({})),
);

const decoded = (wire: unknown, sender: string): Command =>
  taskFormatDialect.decode(JSON.parse(JSON.stringify(wire)), config, sender);

/** The message without its identity. */
const said = (command: Command): object =>
  JSON.parse(JSON.stringify({ ...command, messageId: undefined, fingerprint: undefined }));

const taskFrom = (wire: object): { task: Task; input: JsonObject } => {
  const command = decoded(wire, 'requester');
  assert.ok(command.kind === 'request');
  const {
    taskId,
    from,
    to,
    capability,
    priority,
    ttlSeconds,
    parent,
    delegationChain,
    retry,
    maxAttempts = 0,
    extensions,
    conversation,
    user,
    baggage,
  } = command;
  const trace = command.trace ?? { traceparent: newTask().traceparent };
  const fields = {
    id: taskId,
    from,
    to,
    capability,
    priority,
    ttlSeconds,
    parent,
    delegationChain,
    retry,
    maxAttempts,
    extensions,
  };
  const context = { conversation, user, ...createChildSpan(trace), baggage };
  return { task: { ...newTask({ domain: undefined }), ...fields, ...context }, input: Object(command.input) };
};

type EndReport = Extract<TaskReport, { kind: 'complete' | 'fail' | 'cancel' }>;
const END_STATUS = { complete: 'completed', fail: 'failed', cancel: 'cancelled' } as const;

const outcomeFrom = (report: EndReport): TaskOutcome => ({
  id: report.messageId,
  from: 'cook',
  to: 'requester',
  happenedAt: 1_770_000_000_000,
  status: END_STATUS[report.kind],
  task: { ...newTask({ id: report.taskId, holder: 'cook', attempt: 1, claimedAt: 1_769_999_999_000 }) },
  error: report.kind === 'complete' ? undefined : report.error,
  extensions: report.extensions,
});

describe('Task Format codec', () => {
  it('encodes every decoded request as it was, except for the span', () =>
    fc.assert(
      fc.property(request, (wire) => {
        const { task, input } = taskFrom(wire);
        const back = encodeRequest(task, input);
        const [was, is] = [decoded(wire, 'requester'), decoded(back, 'requester')];
        assert.ok(was.kind === 'request' && is.kind === 'request');
        const sameTrace = (command: typeof was) => command.trace?.traceparent.slice(0, 36);
        if (was.trace) assert.equal(sameTrace(is), sameTrace(was));
        // Missing fields are filled in: a timestamp, the chain of the requester alone, and a trace.
        const filled = (command: typeof was) => {
          const { context, ...carried } = Object(command.extensions['task-format']);
          const { trace: _trace, delegationChain = ['requester'], ...rest } = command;
          const timestamp = new Date(task.createdAt).toISOString();
          return said({
            ...rest,
            delegationChain,
            extensions: { ...carried, context: { timestamp, ...context } },
          });
        };
        assert.deepEqual(filled(is), filled(was));
      }),
    ));

  it('encodes every decoded outcome as it was', () =>
    fc.assert(
      fc.property(end, (wire) => {
        const was = decoded(wire, 'cook');
        assert.ok(was.kind === 'complete' || was.kind === 'fail' || was.kind === 'cancel');
        const output = was.kind === 'complete' ? was.output : undefined;
        const back = encodeOutcome(outcomeFrom(was), output, was.artifacts);
        // Missing metadata are filled in from the task.
        const { observability } = back;
        const metadata = { ...Object(back.metadata), ...wire.metadata, parley: undefined };
        const filled = { ...wire, metadata, observability };
        assert.deepEqual(said(decoded(back, 'cook')), said(decoded(filled, 'cook')));
        // The code decides whether an error is recoverable.
        const {
          error: { recoverable: _recoverable, ...error } = {},
          ...rest
        }: Record<string, Record<string, unknown>> = JSON.parse(JSON.stringify(wire));
        assert.partialDeepStrictEqual(JSON.parse(JSON.stringify(back)), 'error' in wire ? { ...rest, error } : rest);
      }),
    ));
});
