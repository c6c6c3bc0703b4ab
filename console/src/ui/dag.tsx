import type { ComponentChildren } from 'preact';
import { layOut } from '../model/lay-out.ts';

export interface DagNode {
  id: string;
  tone: string;
  content: ComponentChildren;
}

export interface DagEdge {
  from: string;
  to: string;
  label?: string;
  tone?: string;
  width?: number;
}

interface DagProps {
  label: string;
  nodes: DagNode[];
  edges: DagEdge[];
  nodeWidth?: number;
  nodeHeight?: number;
}

const GAP_X = 64;
const GAP_Y = 16;

/** Boxes from left to right, each after those that it follows from. */
export const Dag = ({ label, nodes, edges, nodeWidth = 200, nodeHeight = 56 }: DagProps) => {
  const { places, columns, rows } = layOut(
    nodes.map(({ id }) => id),
    edges,
  );
  const x = (column: number): number => column * (nodeWidth + GAP_X);
  const y = (row: number): number => row * (nodeHeight + GAP_Y);
  const [width, height] = [x(columns) - GAP_X, y(rows) - GAP_Y];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <div class="dag" role="group" aria-label={label} tabIndex={0}>
      <div class="dag-body" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {edges.map((edge) => {
            const [from, to] = [places.get(edge.from), places.get(edge.to)];
            if (!from || !to) return null;
            const [x1, y1] = [x(from.column) + nodeWidth, y(from.row) + nodeHeight / 2];
            const [x2, y2] = [x(to.column), y(to.row) + nodeHeight / 2];
            const bend = Math.max(24, Math.abs(x2 - x1) / 2);
            return (
              <g key={`${edge.from} ${edge.to}`} class={`edge ${edge.tone ?? ''}`}>
                <path
                  d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
                  style={{ strokeWidth: `${edge.width ?? 1.5}px` }}
                />
                {edge.label && (
                  <text x={(x1 + x2) / 2} y={(y1 + y2) / 2 - 6} text-anchor="middle">
                    {edge.label}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
        {nodes.map(({ id, tone, content }) => {
          const place = places.get(id) ?? { column: 0, row: 0 };
          return (
            <div
              key={id}
              class={`dag-node ${tone}`}
              style={{
                width: `${nodeWidth}px`,
                height: `${nodeHeight}px`,
                transform: `translate(${x(place.column)}px, ${y(place.row)}px)`,
              }}
            >
              {content}
            </div>
          );
        })}
      </div>
    </div>
  );
};
