import { get } from '../../api/call.ts';
import type { Agent } from '../../api/types.ts';
import { formatCount } from '../../model/format.ts';
import type { StatisticsAnswer } from '../../model/statistics.ts';
import { useResource } from '../../state/resource.ts';
import { href, params, setParams } from '../../state/router.ts';
import { Empty } from '../../ui/basics.tsx';
import { Card, Loaded, Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { AgentMap, type Flow } from './agent-map.tsx';

const EVERY_MS = 5000;
const WINDOWS = [
  ['5m', '5 minutes'],
  ['1h', '1 hour'],
  ['24h', '1 day'],
] as const;
const STEPS: Record<string, string> = { '5m': '1m', '1h': '5m', '24h': '1h' };
const MINUTES: Record<string, number> = { '5m': 5, '1h': 60, '24h': 1440 };

interface Found {
  flows: Flow[];
  agents: Agent[];
}

const load = async (window: string, abort: AbortSignal): Promise<Found> => {
  const [{ pairs = [] }, { agents }] = await Promise.all([
    get<StatisticsAnswer>('v1/stats', { window, step: STEPS[window], by: 'pair', limit: 100 }, abort),
    get<{ agents: Agent[] }>('v1/agents', { limit: 100 }, abort),
  ]);
  const minutes = MINUTES[window] ?? 60;
  const flows = pairs.flatMap(({ requester, holder, completed, failed, submitted }) =>
    requester && holder
      ? [{ from: requester, to: holder, perMinute: (completed + failed) / minutes, completed, failed, submitted }]
      : [],
  );
  return { flows, agents };
};

/** Who gives work to whom, and how that goes. */
export const MapPage = () => {
  const window = params.value.get('window') ?? '1h';
  const found = useResource(`map ${window}`, (abort) => load(window, abort), { everyMs: EVERY_MS });
  return (
    <Page title="Map" name="Map" lead="Who gives work to whom. Wider is more; red is what failed.">
      <div>
        <Tabs label="Window" options={WINDOWS} value={window} onChange={(value) => setParams({ window: value })} />
      </div>
      {found.problem.value?.code === 'forbidden' ? (
        <Card>
          <Empty title="The map is for operators" icon="key">
            This key sees what concerns its agent. <a href={href(['tasks'])}>Its tasks</a>
          </Empty>
        </Card>
      ) : (
        <Loaded from={found}>
          {({ flows, agents }) => (
            <Card
              aside={
                <span class="muted">
                  {formatCount(flows.reduce((sum, { completed, failed }) => sum + completed + failed, 0))} tasks ended
                </span>
              }
            >
              {flows.length === 0 ? (
                <Empty title="No work went from one agent to another in this time" icon="map">
                  <a href={href(['submit'])}>Submit a task</a>, or look at a longer time.
                </Empty>
              ) : (
                <AgentMap flows={flows} agents={agents} />
              )}
            </Card>
          )}
        </Loaded>
      )}
    </Page>
  );
};
