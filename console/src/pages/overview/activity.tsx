import { get } from '../../api/call.ts';
import { formatCount, formatDuration } from '../../model/format.ts';
import { type Statistics, type StatisticsAnswer, toStatistics } from '../../model/statistics.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { Chart } from '../../ui/chart.tsx';
import { Card, Loaded } from '../../ui/page.tsx';

const EVERY_MS = 10_000;

/** The last hour: how much was done, how long it took, and what failed. */
export const Activity = () => {
  const found = useResource(
    'stats',
    async (abort) => toStatistics(await get<StatisticsAnswer>('v1/stats', { window: '1h', step: '1m' }, abort)),
    {
      everyMs: EVERY_MS,
    },
  );
  // An agent's key sees no counts of others.
  if (found.problem.value?.code === 'forbidden') return null;
  return <Loaded from={found}>{(statistics) => <Charts statistics={statistics} />}</Loaded>;
};

const Charts = ({ statistics }: { statistics: Statistics }) => {
  const { times, submitted, completed, failed, claimP50, endP50, endP99, totalCompleted, failures } = statistics;
  const most = Math.max(1, ...failures.map(([, count]) => count));
  return (
    <div class="columns thirds">
      <Card
        title="Tasks a minute"
        aside={<span class="muted">{formatCount(totalCompleted)} completed in an hour</span>}
      >
        <Chart
          title="Tasks requested, completed and failed a minute, over the last hour"
          times={times}
          series={[
            { label: 'Requested', color: '--muted', values: submitted },
            { label: 'Completed', color: '--good', values: completed, isFilled: true },
            { label: 'Failed', color: '--bad', values: failed, isFilled: true },
          ]}
        />
      </Card>
      <Card title="Time">
        <Chart
          title="Time to claim and to end, over the last hour"
          times={times}
          format={formatDuration}
          least={100}
          series={[
            { label: 'Claim, half', color: '--muted', values: claimP50 },
            { label: 'End, half', color: '--accent', values: endP50 },
            { label: 'End, 99 %', color: '--warn', values: endP99 },
          ]}
        />
      </Card>
      <Card title="Failures by code">
        {failures.length === 0 ? (
          <p class="muted">None in the last hour.</p>
        ) : (
          <ul class="bars">
            {failures.slice(0, 8).map(([code, count]) => (
              <li key={code}>
                <a href={href(['tasks'], { error: code, ago: '1h' })}>
                  <code>{code}</code>
                  <span class="num">{formatCount(count)}</span>
                  <span class="meter" style={{ width: `${(count / most) * 100}%` }} />
                </a>
              </li>
            ))}
          </ul>
        )}
      </Card>
    </div>
  );
};
