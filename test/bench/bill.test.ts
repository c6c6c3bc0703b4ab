import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { billOf, type Line, totalOf, withoutPolls } from '../../bench/aws/bill.ts';
import type { CallCount, InvocationCount, Reading } from '../../local/cloudformation-runner/index.ts';

const LIVES = 10;

const call = (caller: string, service: string, operation: string, resource: string, billed: number): CallCount => ({
  caller,
  service,
  operation,
  resource,
  calls: 1,
  billed,
  refused: 0,
});

const invoked = (functionName: string, invocations: number, cpuMs: number): InvocationCount => ({
  functionName,
  memoryMb: 512,
  invocations,
  failures: 0,
  cpuMs,
  durationMs: 9999,
  cpuGbSeconds: 0.5,
  maxMemoryMb: 100,
  gbSeconds: 5,
});

const reading: Reading = {
  httpRequests: 30,
  invocations: [invoked('ingest', 20, 1000), invoked('claims', 10, 24)],
  capacity: [
    { resource: 'parley', kind: 'write', units: 60 },
    { resource: 'parley/index/due', kind: 'write', units: 20 },
    { resource: 'parley', kind: 'read', units: 16 },
  ],
  calls: [
    call('ingest', 'dynamodb', 'PutItem', 'parley', 10),
    call('ingest', 'sqs', 'SendMessageBatch', 'parley-a.fifo', 6),
    call('dispatch', 'sqs', 'SendMessageBatch', 'parley-b.fifo', 4),
    call('dispatch', 'sqs', 'SendMessageBatch', 'parley-delay', 5),
    call('dispatch', 'events', 'PutEvents', 'parley', 30),
    call('due mapping', 'sqs', 'ReceiveMessage', 'parley-delay', 100),
  ],
};

const LOG_BYTES = 9000;
const lines = billOf(withoutPolls(reading), LIVES, LOG_BYTES);
const lineOf = (what: string): Line | undefined => lines.find((line) => line.what === what);
const isNear = (value: number | undefined, expected: number): void =>
  assert.ok(Math.abs((value ?? Number.NaN) - expected) < 1e-9, `${value} is not ${expected}`);

describe('the bill of a life', () => {
  it('has the price of each unit', () => {
    isNear(lineOf('requests')?.dollarsPerMillion, 3 * 1);
    isNear(lineOf('invocations')?.dollarsPerMillion, 3 * 0.2);
    isNear(totalOf(lines, 'DynamoDB writes').dollarsPerMillion, 8 * 0.625);
    isNear(totalOf(lines, 'DynamoDB reads').dollarsPerMillion, 1.6 * 0.125);
    isNear(lineOf('events')?.dollarsPerMillion, 3 * 1);
    // Half a dollar a GB: 900 bytes.
    isNear(lineOf('bytes')?.dollarsPerMillion, 0.45);
    // A put of 6 ms and a send of 12 ms by a function of half a GB, for ten lives.
    isNear(lineOf('GB-seconds of waiting')?.perLife, (0.5 * 0.018) / LIVES);
  });

  it('adds up the queues of a kind, and prices a standard queue apart', () => {
    isNear(lineOf('SendMessageBatch')?.perLife, 1);
    isNear(lineOf('SendMessageBatch')?.dollarsPerMillion, 0.5);
    isNear(lineOf('SendMessageBatch, standard')?.dollarsPerMillion, 0.5 * 0.4);
  });

  it('counts CPU as a core costs, whatever memory the function has', () => {
    // 102.4 ms a life on a core that comes with 1,769 MB.
    isNear(lineOf('GB-seconds of CPU')?.perLife, 0.1769);
    isNear(lineOf('GB-seconds of CPU')?.dollarsPerMillion, 0.1769 * 13.3334);
  });

  it('tells writes to the table from those to an index', () => {
    const writes = lines.filter(({ part }) => part === 'DynamoDB writes');
    assert.deepEqual(
      writes.map(({ what, perLife }) => [what, perLife]),
      [
        ['table', 6],
        ['due', 2],
      ],
    );
  });

  it('leaves out the polls that go on without any life', () => {
    assert.equal(lineOf('ReceiveMessage, standard'), undefined);
    isNear(totalOf(lines).dollarsPerMillion, 3 + 0.6 + 5 + 0.2 + 3 + 0.5 + 0.2 + (0.1769 + 0.0009) * 13.3334 + 0.45);
  });

  it('refuses what has no price', () => {
    const blob = { ...reading, calls: [call('ingest', 's3', 'PutObject', 'content', 1)] };
    assert.throws(() => billOf(blob, LIVES), /s3:PutObject/);
  });
});
