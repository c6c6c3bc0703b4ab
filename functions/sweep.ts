import { SWEEP_AHEAD_MS } from '../shared/engines/aws/timers.ts';
import { inLambda } from './in-lambda.ts';
import { logged } from './logged.ts';
import { counted } from './metrics.ts';
import { logger, wired } from './parley.ts';

const { engine, deps } = wired();

/** Every minute: what is due until the next one goes to the delay queue. */
export const handler = inLambda()
  .use(logged(() => ({})))
  .handler(async () => {
    const swept = await engine.timers.sweep(deps.clock.now() + SWEEP_AHEAD_MS);
    logger.info('swept', { swept });
    counted({ DueSwept: swept });
  });
