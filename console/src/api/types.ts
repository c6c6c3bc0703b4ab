/** What the console reads of the answers of the HTTP API; `/openapi.json` has all of it. */

export type TaskState =
  | 'waiting'
  | 'requested'
  | 'claimed'
  | 'in_progress'
  | 'input_required'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelled';

export type Priority = 'critical' | 'high' | 'normal' | 'low';

export interface TaskError {
  code: string;
  message: string;
  recoverable?: boolean;
  details?: unknown;
}

export interface TimelineEntry {
  at: string;
  event: string;
  agent?: string;
  attempt?: number;
  percent?: number;
  message?: string;
  answer?: unknown;
  error?: { code: string; message: string };
}

export interface Artifact {
  name: string;
  type: string;
  size?: number;
  [field: string]: unknown;
}

export interface Question {
  prompt?: string;
  schema?: JsonSchema;
  [field: string]: unknown;
}

export interface Task {
  id: string;
  state: TaskState;
  type: string;
  priority: Priority;
  dialect: string;
  from: string;
  to?: string;
  domain?: string;
  conversationId?: string;
  user?: string;
  parentTaskId?: string;
  graphId?: string;
  dependencies?: string[];
  subtasks?: string[];
  createdAt: string;
  expiresAt?: string;
  waitsForLimit?: {
    key: string;
    reason: 'concurrency' | 'rate';
    concurrency?: number;
    running?: number;
    nextStartAt?: string;
  };
  retryAt?: string;
  attempt: number;
  maxAttempts: number;
  lease?: { until: string };
  claim?: unknown;
  progress?: { percent?: number; message?: string; at?: string };
  payload?: unknown;
  result?: unknown;
  artifacts?: Artifact[];
  input?: Question;
  error?: TaskError;
  lastError?: TaskError;
  cancelledBy?: string;
  deadLettered: boolean;
  traceparent: string;
  metadata: { startedAt?: string; completedAt?: string; duration_ms?: number; agent?: string; retryCount: number };
  history?: TimelineEntry[];
}

export interface Page<K extends string, T> {
  cursor?: string;
  count?: { value: number; isExact: boolean } | number;
  items: T[];
  name?: K;
}

export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  format?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
}

export interface Agent {
  id: string;
  dialect: string;
  profile?: string;
  capabilities?: string[];
  schemas?: Record<string, { input?: JsonSchema; output?: JsonSchema }>;
  domains: string[];
  serves: string[];
  transport: string;
  role?: string;
  registeredAt: string;
  signing?: string;
  channels?: string[];
  health: {
    online?: boolean;
    status?: string;
    lastSeen?: string;
    uptime?: number;
    activeTaskCount?: number;
    model?: string;
    version?: string;
    cpuUsage?: number;
    memoryMb?: number;
    statusReport?: { status: string; at: string };
  };
  paused?: { [field: string]: unknown };
  inboxState?: { depth: number; evicted: number };
}

export interface BoundedCount {
  value: number;
  isExact: boolean;
}

export interface Queue {
  id: string;
  domain?: string;
  capability?: string;
  agent?: string;
  paused: boolean;
  pause?: { by: string; reason?: string; since: string };
  waiting: BoundedCount;
  oldestWaitingSince?: string;
  inFlight: BoundedCount;
  waitingClaims?: number;
  limits: { key: string; reason: 'concurrency' | 'rate'; waiting: number }[];
  priorities: { priority: Priority; waiting: BoundedCount; oldestWaitingSince?: string }[];
}
