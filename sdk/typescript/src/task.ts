import type { Extensions } from './extensions.ts';
import type { Json, JsonObject } from './json.ts';

export type Priority = 'critical' | 'high' | 'normal' | 'low';

/** A task as a handler gets it, whatever protocol its requester speaks. */
export interface Task<Input = Json> {
  readonly id: string;
  readonly capability: string;
  readonly input: Input;
  readonly from: string;
  readonly to?: string;
  readonly priority: Priority;
  readonly attempt: number;
  readonly createdAt: Date;
  readonly conversation?: string;
  readonly user?: string;
  readonly parent?: string;
  readonly graphId?: string;
  /** The dialect of its requester. */
  readonly dialect: string;
  readonly metadata?: JsonObject;
  /** What only the protocol of its requester has words for. */
  readonly extensions?: Extensions;
  /** Why the attempt before failed. */
  readonly lastError?: { code: string; message: string };
  readonly traceparent: string;
  readonly baggage?: string;
}

export interface ClaimedTask {
  message: JsonObject & { id: string; capability: string; from: string };
  attempt: number;
  lease: { until: string };
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  graphId?: string;
  steps?: Record<string, { value?: Json; bytes?: number }>;
}

export const toTask = ({ message, attempt, traceparent, baggage, graphId }: ClaimedTask): Task => {
  const { kind: _kind, createdAt, results: _results, dependencies: _dependencies, answer: _answer, ...rest } = message;
  return {
    ...(rest as unknown as Task),
    createdAt: new Date(String(createdAt)),
    attempt,
    traceparent,
    ...(baggage !== undefined && { baggage }),
    ...(graphId !== undefined && { graphId }),
  };
};
