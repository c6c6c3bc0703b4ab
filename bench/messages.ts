import { randomUUID } from 'node:crypto';
import { toShortId } from '../shared/kernel/ids.ts';
import type { JsonObject } from '../shared/kernel/json/json.ts';

/** About 2 KB per message with its envelope. */
const TEXT = 'A paragraph of what one agent tells another. '.repeat(38);

export const noteOf = (sequence: number, to = 'reader'): JsonObject => ({
  version: '1.0.0',
  msg_id: toShortId(randomUUID()),
  from: 'sender',
  to,
  timestamp: new Date().toISOString(),
  sequence,
  type: 'status-update',
  payload: { status: 'in_progress', progress: 0.5, message: TEXT, confidence: 0.8, blockers: [] },
});
