import { claimRoutes } from '../shared/http/routes/claims.ts';
import { inboxRoutes } from '../shared/http/routes/inbox.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = await createHttpFunction([...claimRoutes, ...inboxRoutes]);
