import { setTimeout as pause } from 'node:timers/promises';
import { Latencies } from '../../bench/overload/latencies.ts';

/** Asks `/healthz` from a process of its own, so that what is measured is the server alone. */

const PROBE_MS = 25;
const STALL_MS = 250;
const latencies = new Latencies();
let [stalls, failures] = [0, 0];
let isOver = false;
process.on('message', () => {
  isOver = true;
});
process.on('disconnect', () => process.exit());
while (!isOver) {
  const begun = performance.now();
  try {
    const reply = await fetch(`http://127.0.0.1:${process.argv[2]}/healthz`, { signal: AbortSignal.timeout(30_000) });
    await reply.text();
    if (reply.status !== 200) failures += 1;
    const ms = performance.now() - begun;
    latencies.add(ms);
    if (ms > STALL_MS) stalls += 1;
  } catch {
    failures += 1;
  }
  await pause(PROBE_MS);
}
process.send?.({ ...latencies.spread, stalls, failures });
process.disconnect?.();
