import { parley, repeat } from './agent.ts';

/** Calls merlin, who asks his calculator and delivers what it said. */
const MERLIN = 'merlin';
const roll = (): number => 2 + Math.floor(Math.random() * 97);

await repeat(9000, () =>
  parley.call('POST', '/v1/turns', {
    agent_id: MERLIN,
    correlation_id: crypto.randomUUID(),
    mode: 'call',
    payload: { question: `${roll()} * ${roll()}` },
  }),
);
