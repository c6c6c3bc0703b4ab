import { randomUUID } from 'node:crypto';
import type { TestParley } from './test-parley.ts';

export const taskFormat = { dialect: 'task-format' };

/** A request of Task Format, with the fields that it must have. */
export const tfRequest = (overrides: Record<string, unknown> = {}): { id: string; [field: string]: unknown } => ({
  id: randomUUID(),
  type: 'parse_recipe',
  payload: { url: 'https://example.com/recipe' },
  ...overrides,
});

/** An orchestrator, and a cook who can parse recipes. */
export const kitchen = async ({ agent }: TestParley) => ({
  orchestrator: await agent('orchestrator', taskFormat),
  cook: await agent('cook', { ...taskFormat, capabilities: ['parse_recipe', 'home.dinner'] }),
});
