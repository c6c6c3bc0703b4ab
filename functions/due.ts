import * as z from 'zod';
import { onDue } from '../shared/dispatch/on-due.ts';
import { aboutRecord } from './about-record.ts';
import { wired } from './parley.ts';
import { queueFunction } from './queue-function.ts';

const { engine, deps } = wired();

const DueMessage = z.object({ pk: z.string(), sk: z.string(), due: z.number() });

/** What time does to the records whose second has come. */
export const handler = queueFunction(async (body, note) => {
  const message = DueMessage.parse(JSON.parse(body));
  note({ record: message.pk, due: message.due });
  await engine.timers.fire(message, (record) => {
    note(aboutRecord(record));
    return onDue(deps, record);
  });
});
