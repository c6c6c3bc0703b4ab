import { relayRoutes } from '../shared/http/routes/relay.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction(relayRoutes);
