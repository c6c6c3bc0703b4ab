import type { Route } from '../route.ts';
import { agentWorkRoutes } from './agent-work.ts';
import { agentRoutes } from './agents.ts';
import { eventRoutes } from './events.ts';
import { messageRoutes } from './messages.ts';
import { systemRoutes } from './system.ts';
import { taskRoutes } from './tasks.ts';

/** The whole API. */
export const routes: readonly Route[] = [
  ...messageRoutes,
  ...taskRoutes,
  ...agentWorkRoutes,
  ...agentRoutes,
  ...eventRoutes,
  ...systemRoutes(() => routes),
];
