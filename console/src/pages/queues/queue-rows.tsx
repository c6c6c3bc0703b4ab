import type { Queue } from '../../api/types.ts';
import { formatAge, formatBounded, formatExact } from '../../model/format.ts';
import { now } from '../../state/clock.ts';
import { href } from '../../state/router.ts';
import { Badge } from '../../ui/basics.tsx';
import { QueueSwitch } from './queue-switch.tsx';

const LATE_MS = 60_000;
const VERY_LATE_MS = 10 * 60_000;

export const Oldest = ({ since }: { since: string | undefined }) => {
  if (since === undefined) return <span class="muted">–</span>;
  const age = now.value - Date.parse(since);
  return <span class={age > VERY_LATE_MS ? 'bad-text' : age > LATE_MS ? 'warn-text' : ''}>{formatAge(age)}</span>;
};

/** How much of what waits has which priority. */
export const PriorityBar = ({ queue }: { queue: Queue }) => {
  const total = Math.max(
    1,
    queue.priorities.reduce((sum, { waiting }) => sum + waiting.value, 0),
  );
  const parts = queue.priorities.filter(({ waiting }) => waiting.value > 0);
  return (
    <span
      class="stacked"
      title={parts.map(({ priority, waiting }) => `${priority} ${formatBounded(waiting)}`).join(', ') || 'empty'}
    >
      {parts.map(({ priority, waiting }) => (
        <span key={priority} class={`part ${priority}`} style={{ width: `${(waiting.value / total) * 100}%` }} />
      ))}
    </span>
  );
};

const describePause = ({ by, reason, since }: NonNullable<Queue['pause']>): string =>
  [`by ${by}, ${formatExact(Date.parse(since))}`, reason].filter(Boolean).join(': ');

const toFilter = ({ domain, capability, agent }: Queue): Record<string, string> =>
  capability !== undefined ? { type: capability } : agent !== undefined ? { agent } : { domain: domain ?? '' };

interface QueueTableProps {
  queues: Queue[];
  /** Given where queues can be paused, to load them again. */
  reload?: () => void;
  isBrief?: boolean;
}

export const QueueTable = ({ queues, reload, isBrief = false }: QueueTableProps) => (
  <div class="scroll-x">
    <table>
      <thead>
        <tr>
          <th>Queue</th>
          <th class="num">Waiting</th>
          <th class="wide-only">By priority</th>
          <th class="num">Oldest</th>
          <th class="num">In flight</th>
          {!isBrief && <th class="num wide-only">Claims waiting</th>}
          {reload && <th>Action</th>}
        </tr>
      </thead>
      <tbody>
        {queues.map((queue) => {
          const [kind = '', name = ''] = queue.id.split(/:(.*)/s);
          return (
            <tr key={queue.id}>
              <td>
                <a class="strong" href={href(['tasks'], { ...toFilter(queue), status: 'requested' })}>
                  {name}
                </a>{' '}
                <span class="muted">{kind}</span>{' '}
                {queue.paused && (
                  <span title={queue.pause && describePause(queue.pause)}>
                    <Badge tone="warn">paused</Badge>
                  </span>
                )}
                {queue.limits.map(({ key, reason, waiting }) => (
                  <span key={`${key}/${reason}`} title={`${waiting} wait for the ${reason} of the limit ${key}`}>
                    <Badge tone="warn">{`${waiting} wait for ${key}`}</Badge>{' '}
                  </span>
                ))}
              </td>
              <td class="num">{formatBounded(queue.waiting)}</td>
              <td class="wide-only">
                <PriorityBar queue={queue} />
              </td>
              <td class="num">
                <Oldest since={queue.oldestWaitingSince} />
              </td>
              <td class="num">{formatBounded(queue.inFlight)}</td>
              {!isBrief && <td class="num wide-only">{queue.waitingClaims ?? <span class="muted">–</span>}</td>}
              {reload && (
                <td>
                  <QueueSwitch queue={queue} reload={reload} />
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  </div>
);
