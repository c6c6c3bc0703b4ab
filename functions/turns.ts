import { turnStreamRoutes } from '../shared/http/routes/turn-stream.ts';
import { turnRoutes } from '../shared/http/routes/turns.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction([...turnRoutes, ...turnStreamRoutes]);
