import * as z from 'zod';

export const speaksFor = z.string().max(64).optional().describe('for whom, where an admin key asks');
export const instanceId = z.string().min(1).max(128).optional();
export const wireMessage = z.looseObject({}).describe("in the agent's own dialect");
