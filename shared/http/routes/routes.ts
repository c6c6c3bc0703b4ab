import type { Route } from '../route.ts';
import { a2aRoutes } from './a2a/routes.ts';
import { agentPairRoutes } from './agent-pairs.ts';
import { agentRoutes } from './agents.ts';
import { logRoutes } from './audit-log.ts';
import { batchRoutes } from './batches.ts';
import { boxRoutes } from './boxes.ts';
import { broadcastRoutes } from './broadcasts.ts';
import { capabilityRoutes } from './capabilities.ts';
import { cardRoutes } from './cards.ts';
import { claimRoutes } from './claims.ts';
import { consumerRoutes } from './consumers.ts';
import { controlAgentRoutes } from './control-agent.ts';
import { eventRoutes } from './events.ts';
import { gapRoutes } from './gaps.ts';
import { graphRoutes } from './graphs.ts';
import { homePageRoutes } from './home-page.ts';
import { inboxRoutes } from './inbox.ts';
import { keyRoutes, whoamiRoutes } from './keys.ts';
import { limitRoutes } from './limits.ts';
import { manifestRoutes } from './manifest.ts';
import { createMcpRoutes } from './mcp.ts';
import { messageRoutes } from './messages.ts';
import { metricRoutes } from './metrics.ts';
import { operationRoutes } from './operations.ts';
import { projectRoutes } from './projects.ts';
import { queueRoutes } from './queues.ts';
import { relayRoutes } from './relay.ts';
import { scheduleRoutes } from './schedules.ts';
import { schemaRoutes } from './schemas.ts';
import { sentMessageRoutes } from './sent-messages.ts';
import { statisticsRoutes } from './statistics.ts';
import { createSystemRoutes } from './system.ts';
import { taskRoutes } from './tasks.ts';
import { toolRoutes } from './tools.ts';
import { turnStreamRoutes } from './turn-stream.ts';
import { agentStateRoutes, turnRoutes } from './turns.ts';
import { violationRoutes } from './violations.ts';
import { webhookRoutes } from './webhooks.ts';

/** The whole API. */
export const routes: readonly Route[] = [
  ...messageRoutes,
  ...taskRoutes,
  ...graphRoutes,
  ...batchRoutes,
  ...operationRoutes,
  ...scheduleRoutes,
  ...claimRoutes,
  ...queueRoutes,
  ...limitRoutes,
  ...statisticsRoutes,
  ...inboxRoutes,
  ...sentMessageRoutes,
  ...broadcastRoutes,
  ...agentRoutes,
  ...controlAgentRoutes,
  ...capabilityRoutes,
  ...agentPairRoutes,
  ...keyRoutes,
  ...whoamiRoutes,
  ...projectRoutes,
  ...turnRoutes,
  ...turnStreamRoutes,
  ...agentStateRoutes,
  ...eventRoutes,
  ...consumerRoutes,
  ...cardRoutes,
  ...boxRoutes,
  ...toolRoutes,
  ...relayRoutes,
  ...manifestRoutes,
  ...violationRoutes,
  ...gapRoutes,
  ...logRoutes,
  ...schemaRoutes,
  ...metricRoutes,
  ...homePageRoutes,
  ...webhookRoutes,
  ...a2aRoutes,
  ...createMcpRoutes(() => routes),
  ...createSystemRoutes(() => routes),
];
