import { claimRoutes } from '../shared/http/routes/claims.ts';
import { createHttpFunction } from './http-function.ts';

export const handler = createHttpFunction(claimRoutes);
