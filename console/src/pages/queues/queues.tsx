import { get } from '../../api/call.ts';
import type { Queue } from '../../api/types.ts';
import { useResource } from '../../state/resource.ts';
import { params, setParams } from '../../state/router.ts';
import { canOperate, getOwnAgent } from '../../state/session.ts';
import { Empty } from '../../ui/basics.tsx';
import { Card, Loaded, Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Limits } from './limits.tsx';
import { QueueTable } from './queue-rows.tsx';

const EVERY_MS = 3000;
const MAX_PAGES = 5;

const loadQueues = async (abort: AbortSignal): Promise<Queue[]> => {
  const all: Queue[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await get<{ queues: Queue[]; cursor?: string }>('v1/queues', { limit: 100, cursor }, abort);
    all.push(...found.queues);
    cursor = found.cursor;
    if (cursor === undefined) break;
  }
  return all;
};

const isUsed = ({ waiting, inFlight, limits }: Queue): boolean => waiting.value + inFlight.value + limits.length > 0;

export const Queues = () => {
  const queues = useResource('all queues', loadQueues, {
    when: ({ type }) => /^(task|queue)\./.test(type),
    everyMs: EVERY_MS,
  });
  const canPause = canOperate.value && getOwnAgent() === undefined;
  const isAll = params.value.get('show') === 'all';
  return (
    <Page title="Queues" name="Queues" lead="What waits, for how long, and who is ready to take it.">
      <div>
        <Tabs
          label="Which"
          options={[
            ['', 'In use'],
            ['all', 'All'],
          ]}
          value={isAll ? 'all' : ''}
          onChange={(show) => setParams({ show })}
        />
      </div>
      <Card isFlush>
        <Loaded from={queues}>
          {(found) => {
            const shown = found
              .filter((queue) => isAll || isUsed(queue) || queue.paused)
              .toSorted((a, b) => b.waiting.value - a.waiting.value);
            return shown.length > 0 ? (
              <QueueTable queues={shown} {...(canPause && { reload: queues.reload })} />
            ) : (
              <Empty title="Nothing waits" icon="queue">
                A task that nobody has claimed yet stands in the queue of its agent, its capability or its domain.
              </Empty>
            );
          }}
        </Loaded>
      </Card>
      <p class="muted small legend-line">
        {(['critical', 'high', 'normal', 'low'] as const).map((priority) => (
          <span key={priority}>
            <span class={`swatch part ${priority}`} /> {priority}
          </span>
        ))}
      </p>
      {getOwnAgent() === undefined && <Limits />}
    </Page>
  );
};
