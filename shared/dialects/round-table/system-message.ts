import { toIso } from '../../kernel/json/iso-time.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';

export const buildSystemMessage = (message: JsonObject, at: number): JsonObject => ({
  version: '1.0',
  from: SYSTEM_SENDER,
  timestamp: toIso(at),
  ...message,
});
