import baseConfig from '../../../parley.config.ts';
import { type Config, defineConfig } from '../../../shared/config/config.ts';
import type { Fault } from '../options.ts';

export const ADMIN_KEY = 'an-admin-key-for-chaos';
export const TABLE = 'chaos';
export const BUCKET = 'contents';

/** What a process is told at its start. */
export interface Job {
  engine: 'embedded' | 'aws';
  seed: number;
  faults: Fault[];
  port: number;
  /** How far its clock is ahead. */
  aheadMs: number;
  /** Of the embedded engine. */
  dir: string;
  nats?: { url: string; address: string; key: string };
  aws?: { dynamo: string; sqs: string; s3: string; region: string; delayQueueUrl: string };
}

/** What it is asked for later, each with a number that the answer has too. */
export type Order =
  | { do: 'advance'; ms: number }
  | { do: 'fill'; isFull: boolean }
  | { do: 'calm' }
  | { do: 'dispatch'; records: object[] }
  | { do: 'sweep' }
  | { do: 'due' };

const NEVER_MS = 30 * 86_400_000;

/**
 * Times so short that seconds hold many lives. What was queued is not queued again on suspicion: that would hide a lost message. On
 * AWS a message that was received and not deleted stays hidden for half a minute of real time, for which nobody waits.
 */
export const chaosConfig = (engine: Job['engine']): Config =>
  defineConfig({
    projects: {
      default: {
        domains: { security: { description: '' }, intel: { description: '' }, home: { description: '' } },
        relay: true,
      },
    },
    tasks: {
      ...baseConfig.tasks,
      leaseMs: 2000,
      requeueMs: engine === 'aws' ? 5000 : NEVER_MS,
      retryMs: 20,
      maxRetryMs: 200,
      maxAttempts: 8,
    },
    turns: {
      ...baseConfig.turns,
      startTimeoutMs: 1500,
      repeatWakeupMs: 500,
      wakeupMs: 500,
      heartbeatTimeoutMs: 2000,
      toolTimeoutMs: 3000,
    },
    limits: { ...baseConfig.limits, inFlight: { requests: 1e5, requestsPerKey: 1e5, bytes: 1e9, bytesPerKey: 1e9 } },
  });
