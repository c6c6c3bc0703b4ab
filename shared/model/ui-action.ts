import type { Item } from '../ports/records.ts';

/** What a user did in an interface, once for each action id. */
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
  /** At first accepted, busy or rejected; then, for what was accepted, done or rejected. */
  status: string;
  /** In which it is acknowledged; absent in records of before there were several. */
  protocolVersion?: string;
  /** The turn that does it. */
  turn?: string;
  card?: string;
  error?: string;
  errorCode?: string;
  traceparent: string;
  tracestate?: string;
}
