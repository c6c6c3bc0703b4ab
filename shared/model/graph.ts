import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';

export const GRAPH_ENDS = ['completed', 'failed', 'cancelled'] as const;
type GraphEnd = (typeof GRAPH_ENDS)[number];

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
  pendingRequests?: StoredContent;
  /** Nodes that could not become tasks, though they could when the graph was accepted, and why. */
  rejected?: Record<string, string>;
  /** Nobody wants it any more: its open nodes are cancelled, and those that are not tasks yet never become any. */
  cancelledBy?: string;
  cancelledAt?: number;
  /** How it ended, when none of its nodes was open any more; absent while one is. */
  end?: { status: GraphEnd; at: number };
  fingerprint: string;
  createdAt: number;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
}

export const graphRef = (project: string, id: string): Ref<Graph> => ({ pk: `${project}#graph#${id}`, sk: 'graph' });
