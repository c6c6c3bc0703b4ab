import { turnStreamRoutes } from '../shared/http/routes/turn-stream.ts';
import { turnRoutes } from '../shared/http/routes/turns.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction([...turnRoutes, ...turnStreamRoutes]);
