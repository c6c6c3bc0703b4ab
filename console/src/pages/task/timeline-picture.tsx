import type { Task } from '../../api/types.ts';
import { formatDuration, formatExact } from '../../model/format.ts';
import { buildTimeline, type Segment, type SegmentKind, type Timeline } from '../../model/timeline.ts';
import { now } from '../../state/clock.ts';

const LABELS: Record<SegmentKind, string> = {
  queued: 'queued',
  working: 'at work',
  asking: 'waits for an answer',
  delayed: 'waits for the next attempt',
};

const TICKS = 5;

/** From its creation to its end, or to now. One line for each attempt. */
export const TimelinePicture = ({ task }: { task: Task }) => {
  const timeline = buildTimeline(task);
  const to = Math.max(timeline.to ?? now.value, timeline.from + 1);
  const length = to - timeline.from;
  const percent = (at: number): string => `${Math.min(100, Math.max(0, ((at - timeline.from) / length) * 100))}%`;
  const kinds = new Set(timeline.lanes.flatMap(({ segments }) => segments.map(({ kind }) => kind)));
  return (
    <figure class="timeline" aria-label={`Timeline of ${formatDuration(length)}`}>
      <div class="lanes">
        {timeline.lanes.map((lane, index) => (
          <div class="lane" key={index}>
            <span class="lane-name">
              <span class="muted">Attempt {lane.attempt}</span>
              {lane.agent && <span class="lane-agent">{lane.agent}</span>}
            </span>
            <div class="track">
              {lane.segments.map((segment) => (
                <Bar
                  key={segment.from + segment.kind}
                  segment={segment}
                  timeline={timeline}
                  to={to}
                  percent={percent}
                />
              ))}
              {lane.marks.map((mark) => (
                <span
                  key={`${mark.at}${mark.kind}${mark.text}`}
                  class={`mark is-${mark.kind}`}
                  style={{ left: percent(mark.at) }}
                  title={`${mark.text}\n${formatExact(mark.at)}`}
                />
              ))}
            </div>
          </div>
        ))}
      </div>
      <div class="ticks" aria-hidden="true">
        {Array.from({ length: TICKS }, (_, index) => (
          <span key={index}>{index === 0 ? '0' : formatDuration((length * index) / (TICKS - 1))}</span>
        ))}
      </div>
      <figcaption class="legend">
        {[...kinds].map((kind) => (
          <span key={kind}>
            <span class={`swatch ${kind}`} /> {LABELS[kind]}
          </span>
        ))}
        <span class="muted">
          {timeline.to === undefined ? 'so far' : 'in all'} {formatDuration(length)}
        </span>
      </figcaption>
    </figure>
  );
};

interface BarProps {
  segment: Segment;
  timeline: Timeline;
  to: number;
  percent: (at: number) => string;
}

const Bar = ({ segment, timeline, to, percent }: BarProps) => {
  const end = segment.to ?? to;
  const share = ((end - segment.from) / (to - timeline.from)) * 100;
  return (
    <span
      class={`segment ${segment.kind} ${segment.to === undefined ? 'running' : ''}`}
      style={{ left: percent(segment.from), width: `${Math.max(0, share)}%` }}
      title={`${LABELS[segment.kind]} · ${formatDuration(end - segment.from)}${segment.agent ? ` · ${segment.agent}` : ''}`}
    />
  );
};
