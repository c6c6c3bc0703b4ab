import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The answer of the AWS command line, or undefined where it has no credentials. */
export type AwsCli = (...args: string[]) => Promise<unknown>;

export const findAwsCli = async (): Promise<AwsCli | undefined> => {
  const call: AwsCli = async (...args) => {
    const { stdout } = await run('aws', [...args, '--output', 'json'], { maxBuffer: 64 * 1024 * 1024 });
    return stdout.trim() === '' ? undefined : JSON.parse(stdout);
  };
  try {
    await call('sts', 'get-caller-identity');
    return call;
  } catch {
    return undefined;
  }
};

interface MetricQuery {
  namespace: string;
  name: string;
  dimensions: Record<string, string>;
  statistic: 'Sum' | 'Maximum' | 'p99';
  since: Date;
}

const PERIOD_S = 60;

/** One value for the time since then. */
export const readMetric = async (aws: AwsCli, query: MetricQuery): Promise<number> => {
  const { namespace, name, dimensions, statistic, since } = query;
  const isExtended = statistic === 'p99';
  const answer = await aws(
    'cloudwatch',
    'get-metric-statistics',
    ...['--namespace', namespace, '--metric-name', name, '--period', String(PERIOD_S)],
    ...['--start-time', since.toISOString(), '--end-time', new Date().toISOString()],
    ...['--dimensions', ...Object.entries(dimensions).map(([key, value]) => `Name=${key},Value=${value}`)],
    ...[isExtended ? '--extended-statistics' : '--statistics', statistic],
  );
  const points: unknown[] = Object(answer).Datapoints ?? [];
  const values = points.map((point) =>
    Number(isExtended ? Object(point).ExtendedStatistics?.p99 : Object(point)[statistic]),
  );
  return statistic === 'Sum' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
};
