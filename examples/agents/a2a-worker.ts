import { pick, send, sleep, work } from './agent.ts';

/** Forecasts the weather, in the words of A2A. */
await work(async ({ message: { taskId, contextId } }) => {
  const report = (state: string, text: string, parley: object = {}) =>
    send({
      statusUpdate: {
        taskId,
        contextId,
        status: { state, message: { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] } },
        metadata: { parley },
      },
    });
  await report('TASK_STATE_WORKING', 'Looking at the sky', { percent: 50 });
  await sleep(700);
  await report('TASK_STATE_COMPLETED', pick(['Rain, then fog.', 'Sun until the evening.', 'Snow on the hills.']));
});
