import { boxRoutes } from '../shared/http/routes/boxes.ts';
import { cardRoutes } from '../shared/http/routes/cards.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction([...cardRoutes, ...boxRoutes]);
