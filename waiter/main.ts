import * as z from 'zod';
import { createRuntime } from '../functions/runtime/composition.ts';
import { log } from '../functions/runtime/function-logger.ts';
import { flushMetrics } from '../functions/runtime/metrics-buffer.ts';
import { startHttpServer } from '../local/http-server.ts';
import { createAwsClients } from '../shared/engines/aws/aws-clients.ts';
import { createRouter } from '../shared/http/router.ts';
import { claimRoutes } from '../shared/http/routes/claims.ts';
import { inboxRoutes } from '../shared/http/routes/inbox.ts';
import { systemClock as clock } from '../shared/ports/clock.ts';
import { Doorbell } from './doorbell.ts';
import { serveWaiting } from './serve-waiting.ts';
import { SharedPolls } from './shared-polls.ts';

const WaiterEnv = z.object({
  WAKE_QUEUE_URL: z.url(),
  EDGE_SECRET: z.string().min(1).optional(),
  WAITER_PORT: z.coerce.number().int().default(8080),
  WAITER_HOST: z.string().default('0.0.0.0'),
});

const METRICS_MS = 60_000;

/** Claims and inboxes of all agents in one process: what waits here costs no function, and one poll is for all. */
const startWaiter = async (): Promise<void> => {
  const env = WaiterEnv.parse(process.env);
  const stopping = new AbortController();
  const doorbell = new Doorbell(clock);
  let polls: SharedPolls | undefined;
  const { deps } = createRuntime({
    share: (sqs) => {
      polls = new SharedPolls(sqs);
      return { poll: polls.poll, watch: (keys) => doorbell.watch(keys) };
    },
  });
  const listening = doorbell.listen(createAwsClients().sqs, env.WAKE_QUEUE_URL, log, stopping.signal);
  const handle = serveWaiting(createRouter(deps, [...claimRoutes, ...inboxRoutes]), env.EDGE_SECRET);
  const server = await startHttpServer(handle, env.WAITER_PORT, env.WAITER_HOST, log);
  const metrics = setInterval(() => void flushMetrics(), METRICS_MS);
  log('info', 'waiter listening', { port: server.port });
  const stop = async (signal: string): Promise<void> => {
    log('info', 'waiter stopping', { signal });
    clearInterval(metrics);
    await server.close();
    stopping.abort();
    // What a poll takes now is given back; else it would be hidden for half a minute.
    await Promise.all([listening, polls?.stop()]);
    await flushMetrics();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
};

try {
  await startWaiter();
} catch (error) {
  log('error', 'waiter failed', { error });
  process.exitCode = 1;
}
