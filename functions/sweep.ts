import { SWEEP_LOOKAHEAD_MS } from '../shared/engines/aws/aws-timers.ts';
import { createRuntime } from './runtime/composition.ts';
import { createHandler } from './runtime/create-handler.ts';
import { logger } from './runtime/function-logger.ts';
import { publishCounts } from './runtime/metrics.lazy.ts';

const { engine, deps } = createRuntime();

/** Every minute: what is due until the next one goes to the delay queue. */
export const handler = createHandler(async () => {
  const swept = await engine.timers.sweep(deps.clock.now() + SWEEP_LOOKAHEAD_MS);
  logger.info('swept', { swept });
  publishCounts({ DueSwept: swept });
});
