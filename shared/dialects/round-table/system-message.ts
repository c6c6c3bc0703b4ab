import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { toIso } from '../../ports/clock.ts';

export const buildSystemMessage = (message: JsonObject, at: number): JsonObject => ({
  version: '1.0',
  from: SYSTEM_SENDER,
  timestamp: toIso(at),
  ...message,
});
