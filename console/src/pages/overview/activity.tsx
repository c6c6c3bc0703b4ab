import { get } from '../../api/call.ts';
import { formatAxis, formatCount, formatDuration } from '../../model/format.ts';
import { type Statistics, type StatisticsAnswer, toStatistics } from '../../model/statistics.ts';
import { useResource } from '../../state/resource.ts';
import { href, params, setParams } from '../../state/router.ts';
import { Chart } from '../../ui/chart.tsx';
import { Card, Loaded } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';

const EVERY_MS = 10_000;
const WINDOWS = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
] as const;
const STEPS: Record<string, string> = { '15m': '1m', '1h': '1m', '24h': '15m' };
const PER: Record<string, string> = { '15m': 'a minute', '1h': 'a minute', '24h': 'a quarter of an hour' };

/** How much was done lately, how long it took, and what failed. */
export const Activity = () => {
  const window = params.value.get('window') ?? '1h';
  const found = useResource(
    `stats ${window}`,
    async (abort) =>
      toStatistics(await get<StatisticsAnswer>('v1/stats', { window, step: STEPS[window] ?? '1m' }, abort)),
    {
      everyMs: EVERY_MS,
    },
  );
  // An agent's key sees no counts of others.
  if (found.problem.value?.code === 'forbidden') return null;
  return <Loaded from={found}>{(statistics) => <Charts statistics={statistics} window={window} />}</Loaded>;
};

const Charts = ({ statistics, window }: { statistics: Statistics; window: string }) => {
  const { times, submitted, completed, failed, claimP50, endP50, endP99, totalCompleted, failures } = statistics;
  const most = Math.max(1, ...failures.map(([, count]) => count));
  return (
    <div class="columns thirds">
      <Card
        title={`Tasks ${PER[window] ?? ''}`}
        aside={
          <Tabs label="Window" options={WINDOWS} value={window} onChange={(value) => setParams({ window: value })} />
        }
      >
        <Chart
          title="Tasks requested, completed and failed a minute"
          times={times}
          series={[
            { label: 'Requested', color: '--muted', values: submitted },
            { label: 'Completed', color: '--good', values: completed, isFilled: true },
            { label: 'Failed', color: '--bad', values: failed, isFilled: true },
          ]}
        />
      </Card>
      <Card title="Time to claim and to end" aside={<span class="muted">{formatCount(totalCompleted)} completed</span>}>
        <Chart
          title="Time to claim and to end"
          times={times}
          format={formatDuration}
          formatTick={formatAxis}
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
          <p class="muted">None in this time.</p>
        ) : (
          <ul class="bars">
            {failures.slice(0, 8).map(([code, count]) => (
              <li key={code}>
                <a href={href(['tasks'], { error: code, ago: window })}>
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
