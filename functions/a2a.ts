import { a2aRoutes } from '../shared/http/routes/a2a/routes.ts';
import { createUserSender } from './runtime/create-user-sender.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction(a2aRoutes, { createSender: createUserSender });
