import { agentPairRoutes } from '../shared/http/routes/agent-pairs.ts';
import { agentRoutes } from '../shared/http/routes/agents.ts';
import { capabilityRoutes } from '../shared/http/routes/capabilities.ts';
import { controlAgentRoutes } from '../shared/http/routes/control-agent.ts';
import { gapRoutes } from '../shared/http/routes/gaps.ts';
import { keyRoutes } from '../shared/http/routes/keys.ts';
import { manifestRoutes } from '../shared/http/routes/manifest.ts';
import { toolRoutes } from '../shared/http/routes/tools.ts';
import { agentStateRoutes } from '../shared/http/routes/turns.ts';
import { violationRoutes } from '../shared/http/routes/violations.ts';
import { webhookRoutes } from '../shared/http/routes/webhooks.ts';
import { createUserSender } from './runtime/create-user-sender.ts';
import { createHttpFunction } from './runtime/http-function.ts';

/** The agents and their tools, and what they and those who look after them keep lists of. */
export const handler = createHttpFunction(
  [
    ...agentRoutes,
    ...controlAgentRoutes,
    ...capabilityRoutes,
    ...agentPairRoutes,
    ...keyRoutes,
    ...manifestRoutes,
    ...violationRoutes,
    ...gapRoutes,
    ...toolRoutes,
    ...agentStateRoutes,
    ...webhookRoutes,
  ],
  { createSender: createUserSender },
);
