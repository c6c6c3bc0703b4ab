import { relayRoutes } from '../shared/http/routes/relay.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction(relayRoutes);
