import { randomBytes } from 'node:crypto';
import type { Reply } from './api.ts';

export type Wire = Reply['body'];

export const newMsgId = (): string => `msg_${randomBytes(4).toString('hex')}`;

let sequence = 0;

/** A whole message of the type; its sequence is the next one of all that were made. */
export const mrMessage = (type: string, from: string, to: string, overrides: Record<string, unknown> = {}): Wire => ({
  version: '1.0.0',
  msg_id: newMsgId(),
  from,
  to,
  timestamp: '2026-02-08T15:00:00.000Z',
  sequence: ++sequence,
  type,
  payload: PAYLOADS[type],
  ...overrides,
});

const PAYLOADS: Record<string, object> = {
  'status-update': { status: 'in_progress', progress: 0.65, message: 'half-way', confidence: 0.8, blockers: [] },
  'task-delegation': { task: 'Audit the login', context: { files: ['/src/login.ts'], dependencies: [] } },
  result: { status: 'success', deliverables: { files_modified: ['/src/login.ts'] }, metrics: { confidence: 0.88 } },
  command: { action: 'pause', parameters: { reason: 'a fix is on its way' } },
  heartbeat: { health: 'healthy', metrics: { cpu_usage: 0.35, memory_mb: 128, active_tasks: 2 }, uptime_ms: 3_600_000 },
};

export const messageRouting = { dialect: 'message-routing' };
