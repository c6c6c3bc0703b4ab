import type { Agent } from '../../api/types.ts';
import { formatCount } from '../../model/format.ts';
import { href } from '../../state/router.ts';
import { toAgentTone } from '../agents/agent-state.tsx';

export interface Flow {
  from: string;
  to: string;
  perMinute: number;
  completed: number;
  failed: number;
  submitted: number;
}

const NODE = { width: 168, height: 48 };
const GAP_Y = 20;
const WIDTH = 860;

const formatRate = (perMinute: number): string =>
  perMinute >= 10 ? formatCount(Math.round(perMinute)) : perMinute.toFixed(perMinute < 1 ? 2 : 1);

const SWEEPS = 6;

/** Each column by the middle of those whom its agents work with, so that few lines cross. */
const sortColumns = (columns: string[][], flows: Flow[]): void => {
  for (const column of columns) column.sort();
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const heights = new Map(
      columns.flatMap((column) => column.map((id, row) => [id, (row + 0.5) / column.length] as const)),
    );
    for (const column of sweep % 2 === 0 ? columns.toReversed() : columns) {
      const middles = new Map(
        column.map((id) => {
          const near = flows.flatMap(({ from, to }) => (from === id ? [to] : to === id ? [from] : []));
          return [id, near.reduce((sum, one) => sum + (heights.get(one) ?? 0.5), 0) / Math.max(1, near.length)];
        }),
      );
      column.sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0));
      for (const [row, id] of column.entries()) heights.set(id, (row + 0.5) / column.length);
    }
  }
};

/** Those who ask on the left, those who work on the right; who does both stands in the middle. */
export const AgentMap = ({ flows, agents }: { flows: Flow[]; agents: Agent[] }) => {
  const asking = new Set(flows.map(({ from }) => from));
  const working = new Set(flows.map(({ to }) => to));
  const columns: string[][] = [
    [...asking].filter((id) => !working.has(id)),
    [...asking].filter((id) => working.has(id)),
    [...working].filter((id) => !asking.has(id)),
  ].filter((column) => column.length > 0);
  sortColumns(columns, flows);
  const rows = Math.max(...columns.map((column) => column.length));
  const height = rows * (NODE.height + GAP_Y);
  const places = new Map<string, { x: number; y: number }>();
  columns.forEach((column, index) => {
    const x = columns.length === 1 ? 0 : (index * (WIDTH - NODE.width)) / (columns.length - 1);
    column.forEach((id, row) => {
      places.set(id, { x, y: (row + (rows - column.length) / 2) * (NODE.height + GAP_Y) });
    });
  });
  const most = Math.max(...flows.map(({ perMinute }) => perMinute), 0.001);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <div class="dag map" role="group" aria-label="Agents, and the work between them" tabIndex={0}>
      <div class="dag-body" style={{ width: `${WIDTH}px`, height: `${height}px` }}>
        <svg width={WIDTH} height={height} aria-hidden="true">
          {flows.map((flow) => (
            <Edge key={`${flow.from} ${flow.to}`} flow={flow} places={places} share={flow.perMinute / most} />
          ))}
        </svg>
        {[...places].map(([id, { x, y }]) => {
          const agent = agents.find((one) => one.id === id);
          return (
            <div
              key={id}
              class={`dag-node ${agent ? toAgentTone(agent) : 'muted'}`}
              style={{ width: `${NODE.width}px`, height: `${NODE.height}px`, transform: `translate(${x}px, ${y}px)` }}
            >
              <a href={href(['agents', id])}>
                <span class="strong">{id}</span>
                <span class="muted small">{agent?.dialect ?? 'removed'}</span>
              </a>
            </div>
          );
        })}
      </div>
      <table class="visually-hidden">
        <caption>Work between agents</caption>
        <tbody>
          {flows.map(({ from, to, completed, failed }) => (
            <tr key={`${from} ${to}`}>
              <th scope="row">
                {from} to {to}
              </th>
              <td>
                {completed} completed, {failed} failed
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

interface EdgeProps {
  flow: Flow;
  places: Map<string, { x: number; y: number }>;
  share: number;
}

const LABEL_AT = 0.8;
type Point = [x: number, y: number];

/** Of a cubic curve. */
const pointOn = (t: number, ...points: [Point, Point, Point, Point]): { x: number; y: number } => {
  const weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3];
  const sum = (axis: 0 | 1): number =>
    points.reduce((total, point, index) => total + point[axis] * (weights[index] ?? 0), 0);
  return { x: sum(0), y: sum(1) };
};

const Edge = ({ flow, places, share }: EdgeProps) => {
  const [from, to] = [places.get(flow.from), places.get(flow.to)];
  if (!from || !to) return null;
  const isForward = to.x > from.x;
  const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [x2, y2] = [isForward ? to.x : to.x + NODE.width, to.y + NODE.height / 2];
  const bend = isForward ? (x2 - x1) / 2 : 60;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${isForward ? x2 - bend : x2 + bend} ${y2} ${x2} ${y2}`;
  // Near its end, where few others are.
  const labelAt = pointOn(LABEL_AT, [x1, y1], [x1 + bend, y1], [isForward ? x2 - bend : x2 + bend, y2], [x2, y2]);
  const failures = flow.failed / Math.max(1, flow.failed + flow.completed);
  const tone = failures > 0.2 ? 'bad' : '';
  return (
    <g class={`edge flow ${tone}`}>
      <path d={path} style={{ strokeWidth: `${1 + share * 6}px` }} />
      {flow.perMinute > 0 && (
        <path class="pulse" d={path} style={{ animationDuration: `${Math.max(0.6, 3 - share * 2.4)}s` }} />
      )}
      <text
        x={isForward ? Math.min(labelAt.x + 40, x2 - 10) : labelAt.x}
        y={labelAt.y - 6 - share * 3}
        text-anchor={isForward ? 'end' : 'middle'}
      >
        {formatRate(flow.perMinute)}/min
        {flow.failed > 0 && <tspan class="failed">{` · ${formatCount(flow.failed)} failed`}</tspan>}
      </text>
    </g>
  );
};
