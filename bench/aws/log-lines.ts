import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACCESS_LOG } from '../../cdk/constructs/access-log.ts';

export interface Logged {
  bytes: number;
  lines: number;
}

/** What the functions wrote themselves. Lambda's own lines are switched off for runs that end well. */
export const readLogged = (dir: string): Logged => {
  const texts = globSync(join(dir, 'logs', '*.log')).map((file) => readFileSync(file));
  return {
    bytes: texts.reduce((sum, { length }) => sum + length, 0),
    lines: texts.reduce((sum, text) => sum + text.toString('latin1').split('\n').length - 1, 0),
  };
};

const SAMPLES: Record<string, string> = {
  '$context.requestId': 'JKJaXmPLvHcESHA=',
  '$context.identity.sourceIp': '203.0.113.210',
  '$context.httpMethod': 'POST',
  '$context.path': '/v1/messages',
  '$context.status': '202',
  '$context.responseLatency': '41',
  '$context.integrationLatency': '38',
  '$context.responseLength': '64',
  '$context.error.message': '-',
  '$context.integrationErrorMessage': '-',
};

/** API Gateway writes a line for each call. */
const ACCESS_LINE_BYTES =
  JSON.stringify(ACCESS_LOG).replace(/\$context[\w.]+/g, (field) => {
    const sample = SAMPLES[field];
    if (sample === undefined) throw new Error(`bench/aws/log-lines.ts has no sample of ${field}`);
    return sample;
  }).length + 1;

/** CloudWatch counts 26 bytes more for each line. */
const LINE_OVERHEAD_BYTES = 26;

export const bytesOfLogs = (before: Logged, after: Logged, httpRequests: number): number =>
  after.bytes -
  before.bytes +
  httpRequests * ACCESS_LINE_BYTES +
  (after.lines - before.lines + httpRequests) * LINE_OVERHEAD_BYTES;
