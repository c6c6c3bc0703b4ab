import { agentRoutes } from '../shared/http/routes/agents.ts';
import { capabilityRoutes } from '../shared/http/routes/capabilities.ts';
import { claimRoutes } from '../shared/http/routes/claims.ts';
import { graphRoutes } from '../shared/http/routes/graphs.ts';
import { inboxRoutes } from '../shared/http/routes/inbox.ts';
import { createMcpRoutes } from '../shared/http/routes/mcp.ts';
import { messageRoutes } from '../shared/http/routes/messages.ts';
import { taskRoutes } from '../shared/http/routes/tasks.ts';
import { createHttpFunction } from './runtime/http-function.ts';

/** The calls that MCP stands on. They are made inside the function. */
const CALLED = [
  ...capabilityRoutes,
  ...messageRoutes,
  ...taskRoutes,
  ...graphRoutes,
  ...claimRoutes,
  ...inboxRoutes,
  ...agentRoutes,
];

export const handler = createHttpFunction(createMcpRoutes(() => CALLED));
