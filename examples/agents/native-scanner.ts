import { connect, Fail, Retry } from '../../sdk/typescript/src/index.ts';

/** Scans hosts; some refuse for a while, and a few for good. */
const worker = connect().worker({ concurrency: 3 });

worker.on<{ host: string }>('security.scan', async ({ input }) => {
  await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 500));
  const luck = Math.random();
  if (luck < 0.08) throw new Retry('host_unreachable', { message: `${input.host} does not answer.`, after: '3s' });
  if (luck < 0.12) throw new Fail('scan_refused', `${input.host} refuses scans.`);
  return { host: input.host, findings: Math.floor(Math.random() * 5) };
});

await worker.run();
