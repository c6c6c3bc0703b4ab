import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePattern } from '../../local/cloudformation-runner/events/event-pattern.ts';
import { compileSchedule } from '../../local/cloudformation-runner/events/schedule-expression.ts';

describe('an event pattern', () => {
  const event = {
    source: 'parley',
    'detail-type': 'Task.Failed',
    resources: ['a', 'b'],
    detail: { attempt: 3, domain: 'security', error: null, nested: { deep: true } },
  };
  const cases: [what: string, pattern: object, isMatch: boolean][] = [
    ['an exact value', { source: ['other', 'parley'] }, true],
    ['another value', { source: ['other'] }, false],
    ['all fields', { source: ['parley'], detail: { domain: ['comms'] } }, false],
    ['null and a boolean', { detail: { error: [null], nested: { deep: [true] } } }, true],
    ['one element of a list', { resources: ['b'] }, true],
    ['no element of a list', { resources: ['c'] }, false],
    ['a prefix', { 'detail-type': [{ prefix: 'Task.' }] }, true],
    ['a prefix in another case', { 'detail-type': [{ prefix: { 'equals-ignore-case': 'TASK' } }] }, true],
    ['a prefix that is not there', { 'detail-type': [{ prefix: 'Failed' }] }, false],
    ['a suffix', { 'detail-type': [{ suffix: '.Failed' }] }, true],
    ['equals-ignore-case', { 'detail-type': [{ 'equals-ignore-case': 'task.failed' }] }, true],
    ['a wildcard', { 'detail-type': [{ wildcard: 'T*.Fail*' }] }, true],
    ['a wildcard that does not fit', { 'detail-type': [{ wildcard: 'T*.Done' }] }, false],
    ['anything but what is there', { detail: { domain: [{ 'anything-but': ['security', 'comms'] }] } }, false],
    ['anything but something else', { detail: { domain: [{ 'anything-but': 'comms' }] } }, true],
    ['anything but a prefix', { detail: { domain: [{ 'anything-but': { prefix: 'sec' } }] } }, false],
    ['anything but, of a field that is not there', { detail: { colour: [{ 'anything-but': 'red' }] } }, false],
    ['exists', { detail: { error: [{ exists: true }], colour: [{ exists: false }] } }, true],
    ['exists of what is not there', { detail: { colour: [{ exists: true }] } }, false],
    ['a number in a range', { detail: { attempt: [{ numeric: ['>', 2, '<=', 3] }] } }, true],
    ['a number out of a range', { detail: { attempt: [{ numeric: ['>', 3] }] } }, false],
    ['a text where a number is wanted', { source: [{ numeric: ['=', 1] }] }, false],
    ['one of two patterns', { $or: [{ source: ['other'] }, { detail: { attempt: [3] } }] }, true],
    ['neither of two patterns', { $or: [{ source: ['other'] }, { detail: { attempt: [4] } }] }, false],
  ];
  for (const [what, pattern, isMatch] of cases) {
    it(`${isMatch ? 'matches' : 'does not match'} ${what}`, () => {
      assert.equal(compilePattern(pattern)(event), isMatch);
    });
  }
});

describe('a schedule', () => {
  const at = (time: string): number => Date.parse(`${time}Z`) / 60_000;
  const cases: [expression: string, due: string, notDue: string][] = [
    ['rate(1 minute)', '2026-02-08T15:07', ''],
    ['rate(5 minutes)', '2026-02-08T15:05', '2026-02-08T15:06'],
    ['rate(1 day)', '2026-02-08T00:00', '2026-02-08T12:00'],
    ['cron(* * * * ? *)', '2026-02-08T15:07', ''],
    ['cron(0/15 8-17 ? * MON-FRI *)', '2026-02-09T08:30', '2026-02-08T08:30'],
    ['cron(30 2 1,15 JAN,JUL ? 2026)', '2026-07-15T02:30', '2027-07-15T02:30'],
  ];
  for (const [expression, due, notDue] of cases) {
    it(`${expression} is due at ${due}${notDue && ` and not at ${notDue}`}`, () => {
      assert.equal(compileSchedule(expression)(at(due)), true);
      if (notDue) assert.equal(compileSchedule(expression)(at(notDue)), false);
    });
  }

  for (const expression of ['rate(1 week)', 'at(2026-02-08T15:00:00)', 'cron(0 8 LW * ? *)', 'every minute']) {
    it(`${expression} is refused by name`, () => {
      assert.throws(() => compileSchedule(expression), /is not known to the local runner/);
    });
  }
});
