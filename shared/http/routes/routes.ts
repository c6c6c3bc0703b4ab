import type { Route } from '../route.ts';
import { agentRoutes } from './agents.ts';
import { claimRoutes } from './claims.ts';
import { eventRoutes } from './events.ts';
import { inboxRoutes } from './inbox.ts';
import { messageRoutes } from './messages.ts';
import { systemRoutes } from './system.ts';
import { taskRoutes } from './tasks.ts';

/** The whole API. */
export const routes: readonly Route[] = [
  ...messageRoutes,
  ...taskRoutes,
  ...claimRoutes,
  ...inboxRoutes,
  ...agentRoutes,
  ...eventRoutes,
  ...systemRoutes(() => routes),
];
