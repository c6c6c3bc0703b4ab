import { claimRoutes } from '../shared/http/routes/claims.ts';
import { createHttpFunction } from './runtime/http-function.ts';

export const handler = createHttpFunction(claimRoutes);
