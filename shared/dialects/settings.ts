import * as z from 'zod';
import { MessageRoutingSettings } from './message-routing/settings.ts';
import { RoundTableSettings } from './round-table/settings.ts';

/** What a deployment decides for each dialect that leaves it something to decide. */
export const DialectSettings = z.strictObject({
  'message-routing': MessageRoutingSettings.prefault({}),
  'round-table': RoundTableSettings.prefault({}),
});
