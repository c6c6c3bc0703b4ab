import { claimRoutes } from '../shared/http/routes/claims.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction(claimRoutes);
