import type { JsonObject } from '../kernel/json/json.ts';
import type { Item } from '../ports/records.ts';

export const VIOLATION_SEVERITIES = ['critical', 'major', 'minor'] as const;
export type ViolationSeverity = (typeof VIOLATION_SEVERITIES)[number];
export const VIOLATION_ACTIONS = ['blocked', 'flagged', 'corrected'] as const;
export type ViolationAction = (typeof VIOLATION_ACTIONS)[number];

/** A message that broke a law of its protocol, and the reaction. */
export interface Violation extends Item {
  sk: 'violation';
  project: string;
  id: string;
  dialect: string;
  law: string;
  code: string;
  severity: ViolationSeverity;
  action: ViolationAction;
  detail: string;
  agent: string;
  to?: string;
  messageId: string;
  taskId?: string;
  happenedAt: number;
  auditEntry?: JsonObject;
}
