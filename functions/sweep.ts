import { SWEEP_LOOKAHEAD_MS } from '../shared/engines/aws/aws-timers.ts';
import { createRuntime, logger } from './composition.ts';
import { createHandler } from './create-handler.ts';
import { createLoggingMiddleware } from './logging-middleware.ts';
import { publishCounts } from './metrics.lazy.ts';

const { engine, deps } = createRuntime();

/** Every minute: what is due until the next one goes to the delay queue. */
export const handler = createHandler()
  .use(createLoggingMiddleware(() => ({})))
  .handler(async () => {
    const swept = await engine.timers.sweep(deps.clock.now() + SWEEP_LOOKAHEAD_MS);
    logger.info('swept', { swept });
    publishCounts({ DueSwept: swept });
  });
