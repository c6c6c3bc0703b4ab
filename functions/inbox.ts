import { inboxRoutes } from '../shared/http/routes/inbox.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction(inboxRoutes);
