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

/** Tasks that were requested together. Each starts when its dependencies are completed. */
export interface Graph extends Item {
  sk: 'graph';
  project: string;
  id: string;
  from: string;
  conversation?: string;
  nodes: GraphNode[];
  /** Absent once all nodes are tasks. */
  pendingRequests?: StoredContent;
  /** Nodes that could not become tasks after the graph was accepted, and why. */
  rejected?: Record<string, string>;
  /** Its open nodes are cancelled, and pending requests do not become tasks. */
  cancelledBy?: string;
  cancelledAt?: number;
  /** Absent while a node is open. */
  end?: { status: GraphEnd; at: number };
  fingerprint: string;
  createdAt: number;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
}

export const graphRef = (project: string, id: string): Ref<Graph> => ({ pk: `${project}#graph#${id}`, sk: 'graph' });
