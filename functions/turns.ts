import { turnRoutes } from '../shared/http/routes/turns.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction(turnRoutes);
