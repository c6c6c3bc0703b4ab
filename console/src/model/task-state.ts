import type { TaskState } from '../api/types.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'idle' | 'muted';

export const TASK_STATES: readonly TaskState[] = [
  'waiting',
  'requested',
  'claimed',
  'in_progress',
  'input_required',
  'completed',
  'failed',
  'expired',
  'cancelled',
];

const TONES: Record<string, Tone> = {
  waiting: 'idle',
  requested: 'idle',
  pending: 'idle',
  queued: 'idle',
  open: 'busy',
  claimed: 'busy',
  leased: 'busy',
  in_progress: 'busy',
  running: 'busy',
  input_required: 'warn',
  suspended: 'warn',
  partial: 'warn',
  completed: 'good',
  success: 'good',
  failed: 'bad',
  expired: 'bad',
  timeout: 'bad',
  cancelled: 'muted',
  canceled: 'muted',
};
export const toTone = (state: string): Tone => TONES[state] ?? 'idle';

const LABELS: Record<string, string> = {
  waiting: 'waits for others',
  requested: 'queued',
  in_progress: 'in progress',
  input_required: 'needs input',
};
export const toLabel = (state: string): string => LABELS[state] ?? state.replaceAll('_', ' ');

export const isOpenState = (state: string): boolean =>
  ['waiting', 'requested', 'claimed', 'in_progress', 'input_required'].includes(state);
export const isHeldState = (state: string): boolean => ['claimed', 'in_progress', 'input_required'].includes(state);
