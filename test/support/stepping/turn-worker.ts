import { appendFileSync } from 'node:fs';
import { connect } from '../../../sdk/typescript/src/index.ts';
import { handleTurnInSteps } from './handle-turn-in-steps.ts';

/** One of the processes that a test kills: PARLEY_URL and PARLEY_KEY say whose, its arguments what it does. */
const [tool = '', log = ''] = process.argv.slice(2);
const tell = (step: string): void => appendFileSync(log, `${step}\n`);
const worker = connect().turns<{ number: number }>((turn, ctx) => handleTurnInSteps(turn, ctx, tool, tell), {
  instance: 'one',
});
worker.when('error', () => {});
await worker.run();
