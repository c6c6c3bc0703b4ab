import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { ParleyEvent } from '../../api/event-stream.ts';
import { formatClock, formatCount, formatExact } from '../../model/format.ts';
import type { Tone } from '../../model/task-state.ts';
import { href, params, setParams } from '../../state/router.ts';
import { Badge, Button, Empty, Id } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Page } from '../../ui/page.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { BulkChanges } from './bulk-changes.tsx';
import { EventTabs } from './event-tabs.tsx';
import { EventTail } from './event-tail.ts';
import { MessageLog } from './message-log.tsx';

const KINDS = ['task.', 'agent.', 'message.', 'graph.', 'batch.', 'evt.', 'metric.'];

const toTone = (type: string): Tone => {
  if (/(failed|expired|offline|exceeded|blocked|rejected|gap)$/.test(type)) return 'bad';
  if (/(input_required|retrying|released|paused|stopped|unacknowledged|late)$/.test(type)) return 'warn';
  if (/(completed|ended|done|online|resumed)$/.test(type)) return 'good';
  return /(claimed|progress|step)$/.test(type) ? 'busy' : 'idle';
};

const describe = ({ data }: ParleyEvent): string =>
  [
    data.capability,
    data.from,
    data.agent && `→ ${data.agent}`,
    data.percent !== undefined && `${data.percent} %`,
    data.message,
    data.error && JSON.stringify(data.error),
  ]
    .filter(Boolean)
    .join(' · ');

export const Events = () => {
  const view = params.value.get('show');
  return view === 'messages' ? <MessageLog /> : view === 'changes' ? <BulkChanges /> : <LiveEvents />;
};

const LiveEvents = () => {
  const tail = useMemo(() => new EventTail(), []);
  const opened = useSignal<ParleyEvent | undefined>(undefined);
  useEffect(() => {
    tail.start();
    return () => tail.stop();
  }, [tail]);
  const kind = params.value.get('kind') ?? '';
  const text = (params.value.get('text') ?? '').toLowerCase();
  const matches = (event: ParleyEvent): boolean =>
    event.type.startsWith(kind) &&
    (text === '' || `${event.type} ${JSON.stringify(event.data)}`.toLowerCase().includes(text));
  const shown = kind === '' && text === '' ? tail.shown.value : tail.shown.value.filter(matches);
  return (
    <Page
      title="Events"
      name="Events"
      lead={`${formatCount(tail.perSecond.value)} a second, the newest first`}
      actions={
        <>
          <Button icon={tail.isPaused.value ? 'play' : 'pause'} onClick={() => tail.pause(!tail.isPaused.value)}>
            {tail.isPaused.value ? `Go on (${formatCount(tail.held.value)})` : 'Pause'}
          </Button>
          <Button icon="cross" onClick={() => tail.clear()}>
            Clear
          </Button>
        </>
      }
    >
      <EventTabs />
      <search class="filter-line">
        <select aria-label="Kind" value={kind} onChange={(event) => setParams({ kind: event.currentTarget.value })}>
          <option value="">All events</option>
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {one}*
            </option>
          ))}
        </select>
        <input
          class="grow"
          aria-label="Containing"
          placeholder="Containing: an agent, a capability, an id…"
          defaultValue={text}
          onInput={(event) => setParams({ text: event.currentTarget.value })}
        />
      </search>
      <div class="list-frame events">
        {shown.length === 0 ? (
          <Empty title={tail.shown.value.length === 0 ? 'Quiet' : 'No event matches'} icon="events">
            What happens from now on appears here by itself.
          </Empty>
        ) : (
          <VirtualList<ParleyEvent>
            items={shown}
            rowHeight={36}
            label="Events"
            keyOf={({ id }) => id}
            onOpen={(event) => (opened.value = event)}
            renderRow={(event) => <EventRow event={event} onOpen={() => (opened.value = event)} />}
          />
        )}
      </div>
      {opened.value && (
        <Dialog title={opened.value.type} onClose={() => (opened.value = undefined)} isWide>
          <p class="muted">{formatExact(opened.value.at)}</p>
          <JsonView value={opened.value} label="the event" />
        </Dialog>
      )}
    </Page>
  );
};

const EventRow = ({ event, onOpen }: { event: ParleyEvent; onOpen: () => void }) => {
  const { taskId } = event.data;
  return (
    <>
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
      <span role="gridcell" class="cell num" title={formatExact(event.at)}>
        {formatClock(event.at)}
      </span>
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
      <span role="gridcell" class="cell">
        <button type="button" class="bare" onClick={onOpen}>
          <Badge tone={toTone(event.type)}>{event.type}</Badge>
        </button>
      </span>
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
      <span role="gridcell" class="cell">
        {taskId && <Id id={taskId} to={href(['tasks', taskId])} />}
      </span>
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
      <span role="gridcell" class="cell clip muted">
        {describe(event)}
      </span>
    </>
  );
};
