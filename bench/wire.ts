import { randomUUID } from 'node:crypto';

/** About 1 KB for each request and result. */
const TEXT = 'A paragraph of what one agent tells another. '.repeat(17);
const TIMESTAMP = '2026-02-08T15:00:00Z';

export const CAPABILITY = 'security.briefing';

export const DECLARED =
  process.env.BENCH_DECLARES === 'capability' ? { capabilities: [CAPABILITY] } : { domains: ['security'] };

export const requestOf = (from: string, id: string): string =>
  JSON.stringify({
    id,
    version: '1.0',
    type: 'task.request',
    from,
    timestamp: TIMESTAMP,
    payload: { task: CAPABILITY, params: { scope: 'daily', sources: ['nvd', 'cisa', 'vendor'], text: TEXT } },
  });

export const resultOf = (from: string, taskId: string): string =>
  JSON.stringify({
    id: randomUUID(),
    version: '1.0',
    type: 'task.result',
    from,
    timestamp: TIMESTAMP,
    correlationId: taskId,
    payload: { status: 'completed', result: { format: 'markdown', content: TEXT } },
  });

export interface Claims {
  tasks: { message: { id: string } }[];
}

export interface Inbox {
  messages: { id: string; correlationId: string; type: string }[];
}
