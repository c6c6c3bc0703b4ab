import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deliverBatch } from '../../local/cloudformation-runner/mappings/deliver-batch.ts';
import type { TableStreamRecord } from '../../local/cloudformation-runner/mappings/stream-records.ts';

const DAY_S = 86_400;
const now = (): number => Date.now() / 1000;

const record = (number: number, createdAt = now()): TableStreamRecord => ({
  dynamodb: { ApproximateCreationDateTime: createdAt, Keys: {}, SequenceNumber: String(number) },
});

const numbersOf = (records: readonly TableStreamRecord[]): number[] =>
  records.map(({ dynamodb }) => Number(dynamodb.SequenceNumber));

/** Hands the records over to a function that throws where `poison` is among them, or reports it. */
const delivered = async (
  batch: TableStreamRecord[],
  poison: number,
  answer: 'throws' | 'reports',
  more: object = {},
) => {
  const [tried, done, givenUp]: [number[][], number[], object[]] = [[], [], []];
  await deliverBatch(
    {
      properties: {
        BisectBatchOnFunctionError: answer === 'throws',
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        MaximumRetryAttempts: 2,
        MaximumRecordAgeInSeconds: -1,
        ...more,
      },
      target: {
        // biome-ignore lint/suspicious/noExplicitAny: what the mapping makes of the records
        invoke: async (event: any) => {
          const numbers = numbersOf(event.Records);
          tried.push(numbers);
          const at = numbers.indexOf(poison);
          if (at >= 0 && answer === 'throws') return { ok: false, errorType: 'Error', errorMessage: 'no', trace: [] };
          done.push(...(at < 0 ? numbers : numbers.slice(0, at)));
          const batchItemFailures = at < 0 ? [] : [{ itemIdentifier: String(poison) }];
          return { ok: true, result: JSON.stringify({ batchItemFailures }) };
        },
      },
      signal: new AbortController().signal,
      storeFailure: async ({ records, ...why }) => {
        givenUp.push({ ...why, records: numbersOf(records) });
      },
    },
    batch,
  );
  return { tried, done, givenUp };
};

describe('a batch of a stream', () => {
  it('that fails as a whole is split until the one record is found, and the others come in their order', async () => {
    const { done, givenUp } = await delivered(
      [0, 1, 2, 3, 4, 5, 6].map((number) => record(number)),
      3,
      'throws',
    );
    assert.deepEqual(done, [0, 1, 2, 4, 5, 6]);
    assert.deepEqual(givenUp, [{ condition: 'RetryAttemptsExhausted', attempts: 3, hasThrown: true, records: [3] }]);
  });

  it('that is not to be split is given up from the record on that failed, and what came before it is done', async () => {
    const { tried, done, givenUp } = await delivered(
      [0, 1, 2, 3].map((number) => record(number)),
      2,
      'reports',
    );
    assert.deepEqual(tried, [
      [0, 1, 2, 3],
      [2, 3],
      [2, 3],
    ]);
    assert.deepEqual(done, [0, 1]);
    assert.deepEqual(givenUp, [
      { condition: 'RetryAttemptsExhausted', attempts: 3, hasThrown: false, records: [2, 3] },
    ]);
  });

  it('loses what is too old to where failures are kept, untried', async () => {
    const batch = [record(0, now() - 2 * DAY_S), record(1)];
    const { tried, givenUp } = await delivered(batch, -1, 'reports', { MaximumRecordAgeInSeconds: DAY_S });
    assert.deepEqual(tried, [[1]]);
    assert.deepEqual(givenUp, [{ condition: 'RecordAgeExceeded', attempts: 0, hasThrown: false, records: [0] }]);
  });
});
