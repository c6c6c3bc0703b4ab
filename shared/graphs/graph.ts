import type { Item, Ref } from '../ports/records.ts';
import type { Content } from '../tasks/task.ts';

export interface GraphNode {
  taskId: string;
  agent?: string;
  capability: string;
  dependencies: string[];
}

/** Tasks that were asked for at once, each of which starts when those that it depends on are completed. */
export interface Graph extends Item {
  sk: 'graph';
  project: string;
  id: string;
  from: string;
  conversation?: string;
  nodes: GraphNode[];
  /** The requests that become the tasks; absent once all of them have. */
  seeds?: Content;
  /** Nodes that could not become tasks, though they could when the graph was accepted, and why. */
  refused?: Record<string, string>;
  fingerprint: string;
  createdAt: number;
  traceparent: string;
  tracestate?: string;
}

export const isGraph = (item: Item): item is Graph => item.sk === 'graph';

export const graphRef = (project: string, id: string): Ref<Graph> => ({ pk: `${project}#graph#${id}`, sk: 'graph' });
