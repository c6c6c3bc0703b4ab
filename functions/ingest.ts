import { messageRoutes } from '../shared/http/routes/messages.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = await createHttpFunction(messageRoutes);
