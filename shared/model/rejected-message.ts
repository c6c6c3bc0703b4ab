import type { JsonObject } from '../kernel/json/json.ts';
import type { Item } from '../ports/records.ts';

/** That a message was not valid: kept for as long as the change that tells of it may come again. */
export interface RejectedMessage extends Item {
  sk: 'rejected-message';
  project: string;
  from: string;
  to?: string;
  code: string;
  auditEntry: JsonObject;
}
