import { boxRoutes } from '../shared/http/routes/boxes.ts';
import { cardRoutes } from '../shared/http/routes/cards.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction([...cardRoutes, ...boxRoutes]);
