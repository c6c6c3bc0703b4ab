import { agentRoutes } from '../shared/http/routes/agents.ts';
import { httpFunction } from './http-function.ts';

export const handler = httpFunction(agentRoutes);
