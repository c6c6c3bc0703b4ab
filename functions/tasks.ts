import { inspectQueues } from '../shared/engines/aws/inspect-queues.ts';
import { batchRoutes } from '../shared/http/routes/batches.ts';
import { graphRoutes } from '../shared/http/routes/graphs.ts';
import { limitRoutes } from '../shared/http/routes/limits.ts';
import { operationRoutes } from '../shared/http/routes/operations.ts';
import { queueRoutes } from '../shared/http/routes/queues.ts';
import { scheduleRoutes } from '../shared/http/routes/schedules.ts';
import { statisticsRoutes } from '../shared/http/routes/statistics.ts';
import { taskRoutes } from '../shared/http/routes/tasks.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction(
  [
    ...taskRoutes,
    ...graphRoutes,
    ...batchRoutes,
    ...operationRoutes,
    ...scheduleRoutes,
    ...queueRoutes,
    ...limitRoutes,
    ...statisticsRoutes,
  ],
  {
    inspectQueues,
  },
);
