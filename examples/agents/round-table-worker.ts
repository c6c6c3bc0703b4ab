import { parley, send, sleep, work } from './agent.ts';

/** Writes security briefings and tells how far it is. */
const report = (type: string, correlationId: string, payload: object) =>
  send({
    id: crypto.randomUUID(),
    version: '1.0',
    type,
    from: parley.agent,
    timestamp: new Date().toISOString(),
    correlationId,
    payload,
  });

const STAGES: [percent: number, message: string][] = [
  [20, 'Reading the threat feeds'],
  [60, 'Comparing with yesterday'],
  [90, 'Writing'],
];

await work(async ({ id, payload: { params } }) => {
  await report('task.claimed', id, { estimatedDurationSeconds: 3, message: 'On it.' });
  for (const [percent, message] of STAGES) {
    await sleep(600);
    await report('task.progress', id, { percent, message });
  }
  const content = `# Briefing\n\nAll is quiet at the ${params.focus?.[0] ?? 'castle'}.`;
  await report('task.result', id, { status: 'completed', result: { format: 'markdown', content } });
});
