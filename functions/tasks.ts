import { inspectQueues } from '../shared/engines/aws/inspect-queues.ts';
import { batchRoutes } from '../shared/http/routes/batches.ts';
import { boxRoutes } from '../shared/http/routes/boxes.ts';
import { broadcastRoutes } from '../shared/http/routes/broadcasts.ts';
import { cardRoutes } from '../shared/http/routes/cards.ts';
import { graphRoutes } from '../shared/http/routes/graphs.ts';
import { limitRoutes } from '../shared/http/routes/limits.ts';
import { operationRoutes } from '../shared/http/routes/operations.ts';
import { queueRoutes } from '../shared/http/routes/queues.ts';
import { relayRoutes } from '../shared/http/routes/relay.ts';
import { scheduleRoutes } from '../shared/http/routes/schedules.ts';
import { sentMessageRoutes } from '../shared/http/routes/sent-messages.ts';
import { statisticsRoutes } from '../shared/http/routes/statistics.ts';
import { taskRoutes } from '../shared/http/routes/tasks.ts';
import { turnStreamRoutes } from '../shared/http/routes/turn-stream.ts';
import { turnRoutes } from '../shared/http/routes/turns.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = await createHttpFunction(
  [
    ...taskRoutes,
    ...graphRoutes,
    ...batchRoutes,
    ...operationRoutes,
    ...scheduleRoutes,
    ...queueRoutes,
    ...limitRoutes,
    ...statisticsRoutes,
    ...sentMessageRoutes,
    ...broadcastRoutes,
    ...turnRoutes,
    ...turnStreamRoutes,
    ...cardRoutes,
    ...boxRoutes,
    ...relayRoutes,
  ],
  { inspectQueues },
);
