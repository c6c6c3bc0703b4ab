export interface Schedule {
  scheduleId: string;
  from: string;
  cron: string;
  task: { capability: string; input?: unknown; priority?: string; to?: string };
  missed: string;
  status: 'active' | 'paused';
  nextRuns: string[];
  runs: number;
  skipped: number;
  lastRunAt?: string;
  lastTaskId?: string;
  lastError?: { code: string; message: string };
  createdAt: string;
}

export const toPath = (id: string): string => `v1/schedules/${encodeURIComponent(id)}`;

export const MISSED: Record<string, string> = {
  once: 'One run for all of them',
  skip: 'None',
  all: 'Each of the last 7 days',
};
