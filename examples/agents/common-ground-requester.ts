import { parley, pick, repeat } from './agent.ts';

/** Calls merlin, who asks his calculator, and arthur, who forks a quest to two scouts. */
const PLACES = ['the woods', 'the lake', 'the old tower', 'Camlann'];
const roll = (): number => 2 + Math.floor(Math.random() * 97);

const callAgent = (agent_id: string, payload: object) =>
  parley.call('POST', '/v1/turns', { agent_id, correlation_id: crypto.randomUUID(), mode: 'call', payload });

await Promise.all([
  repeat(9000, () => callAgent('merlin', { question: `${roll()} * ${roll()}` })),
  repeat(14_000, () => callAgent('arthur', { place: pick(PLACES) })),
]);
