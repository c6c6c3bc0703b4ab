import { messageRoutes } from '../shared/http/routes/messages.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction(messageRoutes);
