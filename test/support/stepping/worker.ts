import { appendFileSync } from 'node:fs';
import { connect } from '../../../sdk/typescript/src/index.ts';
import { handleInSteps } from './handle-in-steps.ts';

/** One of the processes that a test kills: PARLEY_URL and PARLEY_KEY say whose, its arguments what it does. */
const [capability = '', helper = '', log = ''] = process.argv.slice(2);
const worker = connect().worker({ lease: '1s', concurrency: 2 });
worker.when('error', () => {});
worker.on(capability, (_task, ctx) => handleInSteps(ctx, helper, (step) => appendFileSync(log, `run ${step}\n`)));
await worker.run();
