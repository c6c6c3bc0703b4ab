import type { Task, TimelineEntry } from '../../api/types.ts';
import { formatDuration, formatExact, toText } from '../../model/format.ts';
import { toTone } from '../../model/task-state.ts';

const SENTENCES: Record<string, (entry: TimelineEntry) => string> = {
  requested: ({ agent, attempt }) =>
    attempt === undefined ? `${agent} requested it` : `${agent ?? 'Parley'} queued it again`,
  ready: () => 'Its dependencies are completed',
  claimed: ({ agent }) => `${agent} claimed it`,
  progress: ({ agent }) => `${agent} reported progress`,
  input_required: ({ agent }) => `${agent} asked`,
  input_given: ({ agent }) => `${agent} answered`,
  released: ({ agent, error }) => (error ? `The attempt of ${agent} failed` : `${agent ?? 'Its holder'} released it`),
  completed: ({ agent }) => `${agent ?? 'Its holder'} completed it`,
  failed: ({ agent }) => `It failed for good${agent ? ` with ${agent}` : ''}`,
  expired: () => 'Nobody took it in time',
  cancelled: ({ agent }) => `${agent ?? 'Someone'} cancelled it`,
};

const toSentence = (entry: TimelineEntry): string =>
  SENTENCES[entry.event]?.(entry) ?? `${entry.event.replaceAll('_', ' ')}${entry.agent ? ` · ${entry.agent}` : ''}`;

/** What happened, in words: who did what, how long after the request. */
export const TimelineList = ({ task }: { task: Task }) => {
  const from = Date.parse(task.createdAt);
  return (
    <ol class="story">
      {(task.history ?? []).map((entry, index) => (
        <li key={index} class={entry.error ? 'bad' : toTone(entry.event)}>
          <time dateTime={entry.at} title={formatExact(Date.parse(entry.at))}>
            {Date.parse(entry.at) - from < 1 ? '0' : `+${formatDuration(Date.parse(entry.at) - from)}`}
          </time>
          <div>
            <p>
              {toSentence(entry)}
              {entry.percent !== undefined && <span class="num"> {entry.percent} %</span>}
              {entry.attempt !== undefined && entry.attempt > 1 && <span class="muted"> attempt {entry.attempt}</span>}
            </p>
            {entry.message && <p class="muted">{entry.message}</p>}
            {entry.error && (
              <p>
                <code class="bad-text">{entry.error.code}</code> <span class="muted">{entry.error.message}</span>
              </p>
            )}
            {entry.answer !== undefined && <pre class="answer">{toText(entry.answer)}</pre>}
          </div>
        </li>
      ))}
    </ol>
  );
};
