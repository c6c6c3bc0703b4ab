import { broadcastRoutes } from '../shared/http/routes/broadcasts.ts';
import { inboxRoutes } from '../shared/http/routes/inbox.ts';
import { sentMessageRoutes } from '../shared/http/routes/sent-messages.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction([...inboxRoutes, ...sentMessageRoutes, ...broadcastRoutes]);
