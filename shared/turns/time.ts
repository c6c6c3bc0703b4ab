import { type Change, is } from '../ports/conditions.ts';
import { childNamed } from '../trace.ts';
import { type Active, type Head, ownIn, stateOf, type WaitState } from './head.ts';
import { reaped, timeoutReport, type When } from './transitions.ts';

/** The tool calls that a suspended turn still waits for, and until when. */
export const awaitedIn = (head: Head): [toolCall: string, deadline: number][] =>
  stateOf(head) === 'suspended'
    ? Object.entries(head.deadlines ?? {}).filter(([toolCall]) => ownIn(head.waiting, toolCall) === 'waiting')
    : [];

/** Those of them whose time is over. */
export const overdue = (head: Head, now: number): string[] =>
  awaitedIn(head).flatMap(([toolCall, deadline]) => (deadline <= now ? [toolCall] : []));

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
  const { turn, active, epoch, aliveAt = 0, leasedAt = 0 } = head;
  if (turn === undefined || active === undefined) return { unset: ['due'] };
  const gate = { turn, epoch };
  const state = stateOf(head);
  if (state === 'suspended') return waited(head, active, when, cards);
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

/** A timeout report stands for each tool whose time is over; the turn goes on when it waits for no other. */
const waited = (head: Head, active: Active, { now, limits }: When, cards: ReadonlyMap<string, string>): Change => {
  const late = overdue(head, now);
  const reports = late.flatMap((toolCall): [string, unknown][] => [
    [`waiting.${toolCall}`, 'expired' satisfies WaitState],
    [
      `reports.${toolCall}`,
      timeoutReport(cards.get(toolCall) ?? '', now, childNamed(active, `${head.turn}/${toolCall}`)),
    ],
  ]);
  const left = awaitedIn(head).flatMap(([, deadline]) => (deadline > now ? [deadline] : []));
  const set = { ...Object.fromEntries(reports), open: left.length };
  if (left.length === 0) return { set: { ...set, aliveAt: now, due: now + limits.wakeAgainMs } };
  const deadline = Math.min(...left);
  return { set: { ...set, deadline, due: Math.min(deadline, now + limits.runningMs / 2) } };
};
