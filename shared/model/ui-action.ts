import type { Item } from '../ports/records.ts';

/** Once per action id. */
export interface UiAction extends Item {
  sk: 'ui-action';
  project: string;
  id: string;
  messageId?: string;
  agent: string;
  tool: string;
  channel: string;
  createdAt: number;
  fingerprint: string;
  /** First accepted, busy or rejected; an accepted one becomes done or rejected. */
  status: string;
  /** Absent in records from before there were several versions. */
  protocolVersion?: string;
  turn?: string;
  card?: string;
  error?: string;
  errorCode?: string;
  traceparent: string;
  tracestate?: string;
}
