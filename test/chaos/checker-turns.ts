import type { Rule } from './checker-tasks.ts';
import { type LoggedEvent, of } from './history.ts';

const ofTurns = (events: LoggedEvent[], type: string): LoggedEvent[] => events.filter((event) => event.type === type);

/** A write of an older epoch counts for nothing once a newer one was leased, and one epoch belongs to one turn. */
const oneWriter: Rule = (history) => {
  const found: string[] = [];
  const leases = of(history, 'leased');
  const turnOf = new Map<string, string>();
  for (const { agent, epoch, turn } of leases) {
    const other = turnOf.get(`${agent}#${epoch}`);
    if (other !== undefined && other !== turn) found.push(`epoch ${epoch} of ${agent} is that of ${other} and ${turn}`);
    turnOf.set(`${agent}#${epoch}`, turn);
  }
  for (const { verb, agent, turn, epoch, begun, isAccepted, isDuplicate } of of(history, 'advanced')) {
    if (!isAccepted || isDuplicate) continue;
    const newer = leases.find((lease) => lease.agent === agent && lease.epoch > epoch && lease.answered < begun);
    if (newer) found.push(`${verb} of ${turn} in epoch ${epoch} counted after epoch ${newer.epoch} was leased`);
  }
  return found;
};

/** One call is one turn, which ends once. */
const oneTurn: Rule = (history) => {
  const found: string[] = [];
  const ends = ofTurns(history.end.events, 'evt.agent.task');
  const calls = Map.groupBy(of(history, 'called'), ({ correlation }) => correlation);
  for (const [correlation, all] of calls) {
    const turns = new Set(all.map(({ turn }) => turn));
    if (turns.size > 1) found.push(`the call ${correlation} became ${turns.size} turns`);
    for (const turn of turns) {
      const shown = history.end.turns[turn];
      if (!shown) found.push(`the turn ${turn} is gone`);
      else if (shown.ended_at === undefined) found.push(`the turn ${turn} is still ${shown.status}`);
      const told = ends.filter(({ data }) => data.payload.agent_turn_id === turn).length;
      if (told !== 1) found.push(`the end of ${turn} was told ${told} times`);
    }
  }
  return found;
};

/** Each acknowledged step of a turn is told once. */
const oneTurnStep: Rule = (history) => {
  const told = Map.groupBy(ofTurns(history.end.events, 'evt.agent.step'), ({ data }) => String(data.payload.step_id));
  return of(history, 'advanced').flatMap(({ step, isAccepted, turn }) => {
    const times = told.get(step ?? '')?.length ?? 0;
    return step === undefined || !isAccepted || times === 1
      ? []
      : [`the step ${step} of ${turn} was told ${times} times`];
  });
};

/** A worker that was told that it delivered has ended the turn. */
const oneDelivery: Rule = (history) =>
  [
    ...Map.groupBy(
      of(history, 'advanced').filter(({ verb, isAccepted }) => verb === 'deliver' && isAccepted),
      ({ turn }) => turn,
    ),
  ].flatMap(([turn, deliveries]) => {
    const epochs = new Set(deliveries.map(({ epoch }) => epoch));
    if (epochs.size > 1) return [`${turn} was delivered in ${epochs.size} epochs`];
    const { status } = history.end.turns[turn] ?? {};
    return status === 'success' ? [] : [`${turn} was delivered, and ended ${status}`];
  });

export const TURN_RULES = {
  'a turn has one writer': oneWriter,
  'a call is one turn': oneTurn,
  'a step of a turn is told once': oneTurnStep,
  'a turn is delivered once': oneDelivery,
} satisfies Record<string, Rule>;
