import { type Change, is } from '../ports/conditions.ts';
import { type Head, stateOf, type WaitState } from './head.ts';
import { reaped, timeoutReport, type When } from './transitions.ts';

/** The tool calls that a suspended turn still waits for, once its deadline has come. */
export const overdue = (head: Head, now: number): string[] => {
  if (stateOf(head) !== 'suspended' || (head.deadline ?? Infinity) > now) return [];
  return Object.entries(head.waiting ?? {}).flatMap(([toolCall, state]) => (state === 'waiting' ? [toolCall] : []));
};

/**
 * What time alone does to a head whose `due` has come, if nobody wrote in between. `cards` has the card of a timeout report for
 * each overdue tool call.
 */
export const pass = (head: Head, when: When, cards: ReadonlyMap<string, string>): Change => ({
  ...passed(head, when, cards),
  if: is('v', head.v),
});

const passed = (head: Head, when: When, cards: ReadonlyMap<string, string>): Change => {
  const { now, limits } = when;
  const { turn, epoch, aliveAt = 0, leasedAt = 0, deadline = 0 } = head;
  if (turn === undefined) return { unset: ['due'] };
  const gate = { turn, epoch };
  const state = stateOf(head);
  if (state === 'suspended') {
    if (deadline <= now) return goesOn(head, when, cards);
    return { set: { due: Math.min(deadline, now + limits.runningMs / 2) } };
  }
  const isLeasedOnly = state === 'dispatched';
  const silentAt = isLeasedOnly ? leasedAt + limits.dispatchedMs : aliveAt + limits.runningMs;
  if (silentAt <= now) return reaped(gate, now, isLeasedOnly ? NOT_STARTED : SILENT);
  if (isLeasedOnly || head.state === 'suspended') return rungAgain(head, silentAt, when);
  return { set: { due: silentAt } };
};

const NOT_STARTED = 'The turn was leased and never started.';
const SILENT = 'Nothing was heard of the worker for too long.';

/** Nobody has taken it up: the bell may have been lost. */
const rungAgain = ({ aliveAt = 0, rungAt = 0 }: Head, silentAt: number, { now, limits }: When): Change => {
  const ringAt = Math.max(aliveAt, rungAt) + limits.wakeAgainMs;
  if (ringAt > now) return { set: { due: Math.min(ringAt, silentAt) } };
  return { set: { rungAt: now, due: Math.min(now + limits.wakeAgainMs, silentAt) } };
};

/** A timeout report stands for each tool that said nothing, and the turn goes on with those. */
const goesOn = (head: Head, { now, limits }: When, cards: ReadonlyMap<string, string>): Change => {
  const late = overdue(head, now).flatMap((toolCall): [string, unknown][] => [
    [`waiting.${toolCall}`, 'expired' satisfies WaitState],
    [`reports.${toolCall}`, timeoutReport(cards.get(toolCall) ?? '', now)],
  ]);
  return { set: { ...Object.fromEntries(late), open: 0, aliveAt: now, due: now + limits.wakeAgainMs } };
};
