import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePattern, PatternError } from '../../local/cloudformation-runner/events/event-pattern.ts';
import { deliverBatch } from '../../local/cloudformation-runner/mappings/deliver-batch.ts';
import type { FailedBatch } from '../../local/cloudformation-runner/mappings/failure-record.ts';
import { TemplateError } from '../../local/cloudformation-runner/template-error.ts';

/**
 * What AWS was seen to do, as the public tests of LocalStack recorded it in an account in 2024 and 2025 (event patterns, event source
 * mappings). Facts alone, with values of our own. The README of the runner has the count.
 */

type Expected = boolean | 'refused';
type PatternFact = [what: string, pattern: object, event: object, expected: Expected];

const but = (excluded: unknown) => ({ state: [{ 'anything-but': excluded }] });
const count = (...numeric: unknown[]) => ({ n: [{ numeric }] });
const FILE = { path: '/home/a/b/c/notes.txt' };

const PATTERN_FACTS: PatternFact[] = [
  ['a boolean', { on: [false] }, { on: false }, true],
  ['another boolean', { on: [false] }, { on: true }, false],
  ['null', { x: [null] }, { x: null }, true],
  ['null and a text that says so', { x: [null] }, { x: 'null' }, false],
  ['an empty text', { x: [''] }, { x: '' }, true],
  ['a text with an emoji and a space behind it', { x: ['a 🚀 '] }, { x: 'a 🚀 ' }, true],
  ['300 and 300.0', { n: [300] }, JSON.parse('{"n":300.0}'), true],
  ['names in another case', { NAME: ['x'] }, { name: 'x' }, false],
  ['JSON inside a text', { detail: { a: ['b'] } }, { detail: '{"a":"b"}' }, false],
  ['a text without a list', { x: 'y' }, { x: 'y' }, 'refused'],
  ['a number without a list', { x: 42 }, { x: 42 }, 'refused'],
  ['an empty list in the pattern', { x: [] }, { x: [] }, 'refused'],
  ['one element of a list', { x: ['c', 'b'] }, { x: ['a', 'b'] }, true],
  ['no element of a list', { x: ['c', 'd'] }, { x: ['a'] }, false],
  ['null and an empty list', { x: [null] }, { x: [] }, false],
  ['exists and an empty list', { x: [{ exists: true }] }, { x: [] }, false],
  ['a field of one element of a list', { x: { id: [{ exists: true }] } }, { x: [{ a: 1 }, { id: 'b' }] }, true],
  ['a path in the event', { a: { b: ['x'] } }, { 'a.b': 'x' }, true],
  ['a path in the event that goes on', { a: { b: ['x'] } }, { 'a.b': { b: 'x' } }, false],
  ['a path in the pattern', { 'a.b': ['x'] }, { a: { b: 'x' } }, true],
  ['a path in the pattern that goes on', { 'a.b': { b: ['x'] } }, { a: { b: 'x' } }, false],
  ['exists of a value', { x: [{ exists: true }] }, { x: 'y' }, true],
  ['exists of nothing', { x: [{ exists: true }] }, { y: 'y' }, false],
  ['exists of a value inside a typed attribute', { x: { S: [{ exists: true }] } }, { x: { S: 'y' } }, true],
  ['exists of a whole typed attribute', { x: [{ exists: true }] }, { x: { S: 'y' } }, false],
  ['exists false of nothing, deep', { a: { b: { c: [{ exists: false }] } } }, { a: { b: 1 } }, true],
  ['exists false of a value, deep', { a: { b: { c: [{ exists: false }] } } }, { a: { b: { c: 1 } } }, false],
  ['exists false of a whole typed attribute', { x: [{ exists: false }] }, { x: { S: 'y' } }, true],
  ['a value without its type', { x: ['y'] }, { x: { S: 'y' } }, false],
  ['a typed number as a number', { x: { N: [{ numeric: ['>', 100] }] } }, { x: { N: '101' } }, false],
  [
    'a typed number by another text',
    { x: { N: [{ numeric: ['>', 100] }, { 'anything-but': '101' }] } },
    { x: { N: '42' } },
    true,
  ],
  ['the time of a change', { at: [{ numeric: ['>', 0] }] }, { at: 1_700_000_000.5 }, true],
  ['a field of a body that is plain text', { body: { a: ['b'] } }, { body: 'b' }, false],
  ['an operator in capitals', { x: [{ EXISTS: true }] }, { x: 'y' }, 'refused'],
  ['one of several operators', { x: [{ exists: true }, { prefix: 'no' }, { suffix: 'no' }] }, { x: 'y' }, true],
  ['a typed number by its text', { x: { N: ['12'] } }, { x: { S: 'a', N: '12' } }, true],
  ['a prefix', { x: [{ prefix: 'ab' }] }, { x: 'abc' }, true],
  ['no prefix', { x: [{ prefix: 'ab' }] }, { x: 'cab' }, false],
  ['an empty prefix', { x: [{ prefix: '' }] }, { x: 'abc' }, true],
  ['a prefix in any case', { x: [{ prefix: { 'equals-ignore-case': 'aB' } }] }, { x: 'AbC' }, true],
  ['a prefix that is a number', { x: [{ prefix: 1 }] }, { x: '12' }, 'refused'],
  ['a prefix that is a list', { x: [{ prefix: ['a'] }] }, { x: 'ab' }, 'refused'],
  ['a suffix', { x: [{ suffix: '.png' }] }, { x: 'a.png' }, true],
  ['a suffix in another case', { x: [{ suffix: '.PNG' }] }, { x: 'a.png' }, false],
  ['an empty suffix', { x: [{ suffix: '' }] }, { x: 'a' }, true],
  ['a suffix in any case', { x: [{ suffix: { 'equals-ignore-case': '.png' } }] }, { x: 'a.PNG' }, true],
  ['no suffix in any case', { x: [{ suffix: { 'equals-ignore-case': '.png' } }] }, { x: 'a.jpg' }, false],
  ['a suffix that is a number', { x: [{ suffix: 1 }] }, { x: '21' }, 'refused'],
  ['a suffix that is a list', { x: [{ suffix: ['.png'] }] }, { x: 'a.png' }, 'refused'],
  ['equals in any case', { x: [{ 'equals-ignore-case': 'aBc' }] }, { x: 'AbC' }, true],
  ['equals in any case, and nothing', { x: [{ 'equals-ignore-case': '' }] }, { x: '' }, true],
  ['equals in any case, nothing and something', { x: [{ 'equals-ignore-case': '' }] }, { x: 'a' }, false],
  ['equals in any case of a prefix', { x: [{ 'equals-ignore-case': { prefix: 'a' } }] }, { x: 'ab' }, 'refused'],
  ['a wildcard', { path: [{ wildcard: '/home/*/notes.txt' }] }, FILE, true],
  ['a wildcard over repeated parts', { path: [{ wildcard: '/home/*/b/c/notes.txt' }] }, FILE, true],
  ['a wildcard before a whole name', { path: [{ wildcard: '/home/*/mynotes.txt' }] }, FILE, false],
  ['an empty wildcard', { path: [{ wildcard: '' }] }, FILE, false],
  ['two stars in a row', { path: [{ wildcard: '/home/**/notes.txt' }] }, FILE, 'refused'],
  ['a wildcard that is a number', { path: [{ wildcard: 1 }] }, FILE, 'refused'],
  ['a wildcard that is a list', { path: [{ wildcard: ['/home/*'] }] }, FILE, 'refused'],
  ['anything but a text', but('a'), { state: 'b' }, true],
  ['anything but the text', but('a'), { state: 'a' }, false],
  ['anything but a text, and nothing', but('a'), {}, false],
  ['anything but a text, and null', but('a'), { state: null }, true],
  ['anything but null', but(null), { state: 'a' }, 'refused'],
  ['anything but a list with null', but(['a', null]), { state: 'b' }, 'refused'],
  ['anything but a list', but(['a', 'b']), { state: 'c' }, true],
  ['anything but one of a list', but(['a', 'b']), { state: 'b' }, false],
  ['anything but a list, and nothing', but(['a', 'b']), {}, false],
  ['anything but a list, and null', but(['a', 'b']), { state: null }, true],
  ['anything but a number', but(1), { state: 2 }, true],
  ['anything but the number', but(1), { state: 1 }, false],
  ['anything but zero', but(0), { state: 2 }, true],
  ['anything but a list of numbers', but([1, 2]), { state: 3 }, true],
  ['anything but a prefix', but({ prefix: 'in' }), { state: 'out' }, true],
  ['anything but the prefix', but({ prefix: 'in' }), { state: 'inner' }, false],
  ['anything but an empty prefix', but({ prefix: '' }), { state: 'inner' }, 'refused'],
  ['anything but a prefix, and a number', but({ prefix: 'in' }), { state: 12 }, true],
  ['anything but a prefix, and nothing', but({ prefix: 'in' }), {}, false],
  ['anything but a prefix that is a number', but({ prefix: 1 }), { state: 'a' }, 'refused'],
  ['anything but a prefix in any case', but({ prefix: { 'equals-ignore-case': 'in' } }), { state: 'a' }, 'refused'],
  ['anything but some prefixes', but({ prefix: ['in', 'out'] }), { state: 'up' }, true],
  ['anything but one of some prefixes', but({ prefix: ['in', 'out'] }), { state: 'outer' }, false],
  ['anything but prefixes with a number', but({ prefix: [1, 'out'] }), { state: 'a' }, 'refused'],
  ['anything but a suffix', but({ suffix: '.a' }), { state: 'x.b' }, true],
  ['anything but the suffix', but({ suffix: '.a' }), { state: 'x.a' }, false],
  ['anything but an empty suffix', but({ suffix: '' }), { state: 'x.a' }, 'refused'],
  ['anything but some suffixes', but({ suffix: ['.a', '.b'] }), { state: 'x.c' }, true],
  ['anything but one of some suffixes', but({ suffix: ['.a', '.b'] }), { state: 'x.b' }, false],
  ['anything but a text in any case', but({ 'equals-ignore-case': 'a' }), { state: 'b' }, true],
  ['anything but the text in any case', but({ 'equals-ignore-case': 'a' }), { state: 'A' }, false],
  ['anything but texts in any case', but({ 'equals-ignore-case': ['a', 'b'] }), { state: 'B' }, false],
  ['anything but a number in any case', but({ 'equals-ignore-case': 1 }), { state: 'b' }, 'refused'],
  ['anything but a wildcard', but({ wildcard: '*/in/*' }), { state: 'a/out/b' }, true],
  ['anything but the wildcard', but({ wildcard: '*/in/*' }), { state: 'a/in/b' }, false],
  ['anything but some wildcards', but({ wildcard: ['*/in/*', '*/up/*'] }), { state: 'a/up/b' }, false],
  ['numbers in a range', count('>', 0, '<=', 5), { n: 5 }, true],
  ['numbers out of a range', count('>', 0, '<=', 5), { n: 6 }, false],
  ['an equal number', count('=', 3.018e2), { n: 301.8 }, true],
  ['a number that is a text', count('>', 100), { n: '300' }, false],
  ['a number that is null', count('>', 100), { n: null }, false],
  ['a range of two lower ends', count('>', 0, '>', 0), { n: 3 }, 'refused'],
  ['a range without its end', count('>', 0, '<'), { n: 3 }, 'refused'],
  ['a bare number', { n: [{ numeric: 10 }] }, { n: 10 }, 'refused'],
  ['one of several', { $or: [{ n: [1] }, { m: [{ numeric: ['<', 10] }] }] }, { n: 0, m: 9 }, true],
  ['none of several', { $or: [{ n: [1] }, { m: [{ numeric: ['<', 10] }] }] }, { n: 0, m: 10 }, false],
  ['an alternative that does not exist', { x: { S: [{ 'anything-but': ['a'] }, { exists: false }] } }, { x: {} }, true],
  ['an address of a network', { ip: [{ cidr: '10.0.0.0/24' }] }, { ip: '10.0.0.255' }, true],
  ['an address of another network', { ip: [{ cidr: '10.0.0.0/24' }] }, { ip: '10.0.1.255' }, false],
  ['an address of version 6', { ip: [{ cidr: '2001:db8:1234:1a00::/64' }] }, { ip: '2001:db8:1234:1a00::1' }, true],
  ['another address of version 6', { ip: [{ cidr: '2001:db8:1234:1a00::/64' }] }, { ip: '2001:db8:123f::1' }, false],
  ['an address that is a number', { ip: [{ cidr: '10.0.0.0/24' }] }, { ip: 123 }, false],
  ['a network that is a list', { ip: [{ cidr: ['10.0.0.0/24'] }] }, { ip: '10.0.0.1' }, 'refused'],
  ['a network that is none', { ip: [{ cidr: 'xxxx/64' }] }, { ip: '10.0.0.1' }, 'refused'],
];

const matchOrRefuse = (pattern: object, event: object): Expected => {
  try {
    return compilePattern(pattern)(event);
  } catch (error) {
    if (error instanceof PatternError || error instanceof TemplateError) return 'refused';
    throw error;
  }
};

describe('an event pattern does what was recorded on AWS', () => {
  for (const [what, pattern, event, expected] of PATTERN_FACTS) {
    it(`of ${what}: ${expected}`, () => {
      assert.equal(matchOrRefuse(pattern, event), expected);
    });
  }
});

/** What a function answered, and whether the batch was done. Lambda gave up after the retries, with one more invocation than those. */
const ANSWER_FACTS: [answer: string, isDone: boolean][] = [
  ['[]', true],
  ['null', true],
  ['{}', true],
  ['{"batchItemFailures":[]}', true],
  ['{"batchItemFailures":null}', true],
  ['{"batchItemFailures":[{"itemIdentifier":123}]}', false],
  ['{"batchItemFailures":[{"itemIdentifier":""}]}', false],
  ['{"batchItemFailures":[{"itemIdentifier":null}]}', false],
  ['{"batchItemFailures":[{"itemIdentifier":"of no record"}]}', false],
  ['{"batchItemFailures":[{"foo":123}]}', false],
  ['{"batchItemFailures":[{"foo":null}]}', false],
  ['"{\\"batchItemFailures\\":[]"', false],
];

describe('a batch of a stream does what was recorded on AWS', { concurrency: true }, () => {
  const RETRIES = 3;
  const deliver = async (answer: string | undefined) => {
    const givenUp: Omit<FailedBatch, 'shardId'>[] = [];
    let invocations = 0;
    const dynamodb = { ApproximateCreationDateTime: Date.now() / 1000, Keys: {}, SequenceNumber: '7' };
    await deliverBatch(
      {
        properties: {
          BisectBatchOnFunctionError: false,
          FunctionResponseTypes: ['ReportBatchItemFailures'],
          MaximumRetryAttempts: RETRIES,
          MaximumRecordAgeInSeconds: -1,
        },
        target: {
          invoke: async () => {
            invocations += 1;
            return answer === undefined
              ? { ok: false, errorType: 'ZeroDivisionError', errorMessage: 'division by zero', trace: [] }
              : { ok: true, result: answer };
          },
        },
        signal: new AbortController().signal,
        storeFailure: async (batch) => void givenUp.push(batch),
      },
      [{ dynamodb }],
    );
    return { givenUp, invocations };
  };

  for (const [answer, isDone] of ANSWER_FACTS) {
    it(`after the answer ${answer}: ${isDone ? 'done' : 'given up'}`, async () => {
      const { givenUp, invocations } = await deliver(answer);
      if (isDone) assert.deepEqual([givenUp, invocations], [[], 1]);
      else
        assert.deepEqual([givenUp[0]?.attempts, givenUp[0]?.hasThrown, invocations], [RETRIES + 1, false, RETRIES + 1]);
    });
  }

  it('after an exception: given up, and the record says so', async () => {
    const { givenUp, invocations } = await deliver(undefined);
    assert.deepEqual([givenUp[0]?.attempts, givenUp[0]?.hasThrown, invocations], [RETRIES + 1, true, RETRIES + 1]);
  });
});
