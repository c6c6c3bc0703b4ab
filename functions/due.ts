import * as z from 'zod';
import { onTimer } from '../shared/effects/record-handlers.ts';
import type { EngineHandlers } from '../shared/ports/engine-handlers.ts';
import { createRuntime } from './runtime/composition.ts';
import { createUserSender } from './runtime/create-user-sender.ts';
import { createQueueFunction } from './runtime/queue-function.ts';
import { getRecordLogFields } from './runtime/record-log-fields.ts';

const { engine, deps } = createRuntime({ createSender: createUserSender });

const DueMessage = z.object({ pk: z.string(), sk: z.string(), due: z.number(), at: z.number().optional() });

/** What time does to the records whose second has come. */
export const handler = createQueueFunction(async (body, directMessage, receives) => {
  const message = DueMessage.parse(JSON.parse(body));
  directMessage({ record: message.pk, due: message.due });
  const handleTimer: EngineHandlers['onTimer'] = (record) => {
    directMessage(getRecordLogFields(record));
    return onTimer(deps, record);
  };
  await engine.timers.fire(message, handleTimer, { isFirstReceive: receives === 1 });
});
