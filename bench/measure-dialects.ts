import { randomUUID } from 'node:crypto';
import config from '../parley.config.ts';
import type { Dialect } from '../shared/dialects/dialect.ts';
import { getEncoder } from '../shared/dialects/encoder-registry.ts';
import { DIALECTS, resolveDialect } from '../shared/dialects/registry.ts';
import { type Task, taskRef } from '../shared/model/task.ts';
import { median, percentile } from './numbers.ts';

export interface DialectSpeed {
  dialect: string;
  bytes: number;
  p50Ms: number;
  p99Ms: number;
}

const BYTES = 2048;

export const measureDialects = ({ decoded }: { decoded: number }): DialectSpeed[] =>
  DIALECTS.map((dialect) => {
    const text = requestIn(dialect);
    timesOf(dialect, text, decoded / 4);
    const times = timesOf(dialect, text, decoded);
    return { dialect: dialect.name, bytes: text.length, p50Ms: median(times), p99Ms: percentile(times, 99) };
  });

const timesOf = (dialect: Dialect, text: string, count: number): number[] =>
  Array.from({ length: count }, () => {
    const message = JSON.parse(text);
    const begun = performance.now();
    const { kind } = resolveDialect(message, undefined).decode(message, config, 'asker');
    const ms = performance.now() - begun;
    // CommonGround requests work with a protocol message, not a request.
    if (kind !== 'request' && kind !== 'protocol')
      throw new Error(`a request of ${dialect.name} was understood as ${kind}`);
    return ms;
  });

/** Padded to 2 KB. */
const requestIn = (dialect: Dialect): string => {
  const written = (fill: number): string => JSON.stringify(getEncoder(dialect).encodeRequest(TASK, contentOf(fill)));
  return written(BYTES - written(0).length);
};

const contentOf = (fill: number) => ({ scope: 'daily', sources: ['nvd', 'cisa'], text: 'x'.repeat(Math.max(0, fill)) });

const ID = randomUUID();
const TASK: Task = {
  ...taskRef('default', ID),
  sk: 'task',
  v: 1,
  token: '',
  at: 0,
  project: 'default',
  id: ID,
  dialect: 'none',
  status: 'claimed',
  priority: 'high',
  from: 'asker',
  to: 'worker',
  domain: 'security',
  capability: 'security.briefing',
  createdAt: Date.now(),
  ttlSeconds: 600,
  deadline: Date.now() + 600_000,
  queueGeneration: 1,
  queuedAt: 0,
  requeueCount: 0,
  attempt: 1,
  maxAttempts: 3,
  holder: 'worker',
  input: { json: null },
  extensions: {},
  fingerprint: '',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
