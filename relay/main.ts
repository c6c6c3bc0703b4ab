import { readFileSync } from 'node:fs';
import { createJsonLog } from '../shared/kernel/log.ts';
import { buildNatsOptions } from './connect.ts';
import { createParleyApi } from './parley-api.ts';
import { type RunningRelay, startRelay } from './relay.ts';
import { parseSettings, type RelaySettings, RelayStartError } from './settings.ts';
import { createSqsSource } from './sqs-egress-source.ts';
import { serveStatus } from './status-server.ts';

const log = createJsonLog((line) => process.stdout.write(line), Date.now);

/** Reads the file for each call, so that a rotated key takes effect without a restart. */
const createKeyReader =
  ({ PARLEY_RELAY_KEY: key, PARLEY_RELAY_KEY_FILE: file }: RelaySettings) =>
  (): string =>
    key ?? readFileSync(file ?? '', 'utf8').trim();

const startProcess = async (settings: RelaySettings): Promise<void> => {
  let relay: RunningRelay | undefined;
  const status = await serveStatus(settings.RELAY_HOST, settings.RELAY_PORT, () => relay);
  log('info', 'relay starting', { port: status.port });
  const stop = async (signal: string): Promise<void> => {
    log('info', 'relay stopping', { signal });
    await relay?.stop();
    status.close();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  const visibilityMs = settings.PARLEY_QUEUE_VISIBILITY_SECONDS * 1000;
  relay = await startRelay({
    nats: buildNatsOptions(settings),
    api: createParleyApi(settings.PARLEY_URL, createKeyReader(settings)),
    source: (project) => createSqsSource(settings.PARLEY_QUEUE_URL_PREFIX, project, visibilityMs),
    log,
    batchSize: settings.NATS_BATCH_SIZE,
    maxInflight: settings.NATS_MAX_INFLIGHT,
    fetchMs: settings.NATS_FETCH_TIMEOUT_SECONDS * 1000,
    ackWaitMs: settings.NATS_ACK_WAIT_SECONDS * 1000,
    warmupMs: settings.NATS_WARMUP_TIMEOUT_SECONDS * 1000,
  });
};

try {
  await startProcess(parseSettings(process.env));
} catch (error) {
  process.stderr.write(`relay: ${error instanceof RelayStartError ? error.message : String(error)}\n`);
  process.exit(1);
}
