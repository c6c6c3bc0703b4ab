import { formatDuration, formatExact } from '../../model/format.ts';
import { now } from '../../state/clock.ts';
import type { Turn } from './turn-page.tsx';

interface Line {
  name: string;
  kind: 'queued' | 'working' | 'asking';
  from: number;
  to: number;
  note: string;
}

/** A step lasts until the next report of it, or until the next step. */
const toLines = (turn: Turn, end: number): Line[] => {
  const queued = Date.parse(turn.enqueued_at);
  const leased = turn.leased_at ? Date.parse(turn.leased_at) : end;
  const steps = turn.steps ?? [];
  const byId = [...Map.groupBy(steps, ({ step_id }) => step_id)];
  return [
    { name: 'queued', kind: 'queued', from: queued, to: leased, note: 'until it was leased' },
    ...byId.map(([name, reports], index): Line => {
      const from = Date.parse(reports[0]?.at ?? turn.enqueued_at);
      const last = reports.at(-1);
      const next = byId[index + 1]?.[1][0];
      const isOver = reports.length > 1 || ['completed', 'failed'].includes(last?.phase ?? '');
      const to = isOver ? Date.parse(last?.at ?? '') : next ? Date.parse(next.at) : end;
      return { name, kind: 'working', from, to, note: reports.map(({ phase }) => phase).join(', ') };
    }),
    ...(turn.waiting ?? []).map(
      ({ tool_call_id, status, result }): Line => ({
        name: tool_call_id,
        kind: 'asking',
        from: Date.parse(steps.at(-1)?.at ?? turn.leased_at ?? turn.enqueued_at),
        to: end,
        note: `tool call · ${result ?? status}`,
      }),
    ),
  ];
};

export const Waterfall = ({ turn }: { turn: Turn }) => {
  const from = Date.parse(turn.enqueued_at);
  const end = Math.max(from + 1, turn.ended_at ? Date.parse(turn.ended_at) : now.value);
  const percent = (ms: number): string => `${Math.min(100, Math.max(0, (ms / (end - from)) * 100))}%`;
  return (
    <div class="timeline">
      {toLines(turn, end).map((line) => (
        <div class="lane" key={line.name}>
          <span class="lane-name">
            <span class="lane-agent clip" title={line.name}>
              {line.name}
            </span>
            <span class="muted">{line.note}</span>
          </span>
          <div class="track">
            <span
              class={`segment ${line.kind}`}
              style={{ left: percent(line.from - from), width: percent(line.to - line.from) }}
              title={`${line.name} · ${formatDuration(line.to - line.from)}\n${formatExact(line.from)}`}
            />
          </div>
        </div>
      ))}
      <div class="ticks" aria-hidden="true">
        <span>0</span>
        <span>{formatDuration((end - from) / 2)}</span>
        <span>{formatDuration(end - from)}</span>
      </div>
    </div>
  );
};
