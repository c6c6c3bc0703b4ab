import { readFileSync } from 'node:fs';
import { jsonLog } from '../shared/log.ts';
import { natsOptions } from './connect.ts';
import { parleyApi } from './parley-api.ts';
import { type Relay, startRelay } from './relay.ts';
import { type Settings, StartError, settingsFrom } from './settings.ts';
import { sqsSource } from './sqs-source.ts';
import { serveStatus } from './status-server.ts';

const log = jsonLog((line) => process.stdout.write(line), Date.now);

/** A file is read every time: whoever rotates the key writes the file, and the relay goes on. */
const keyOf =
  ({ PARLEY_RELAY_KEY: key, PARLEY_RELAY_KEY_FILE: file }: Settings) =>
  (): string =>
    key ?? readFileSync(file ?? '', 'utf8').trim();

const start = async (settings: Settings): Promise<void> => {
  let relay: Relay | undefined;
  const status = await serveStatus(settings.RELAY_HOST, settings.RELAY_PORT, () => relay);
  log('info', 'the relay is starting', { port: status.port });
  const stop = async (signal: string): Promise<void> => {
    log('info', 'the relay is stopping', { signal });
    await relay?.stop();
    status.close();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  const visibilityMs = settings.PARLEY_QUEUE_VISIBILITY_SECONDS * 1000;
  relay = await startRelay({
    nats: natsOptions(settings),
    api: parleyApi(settings.PARLEY_URL, keyOf(settings)),
    source: (project) => sqsSource(settings.PARLEY_QUEUE_URL_PREFIX, project, visibilityMs),
    log,
    batchSize: settings.NATS_BATCH_SIZE,
    maxInflight: settings.NATS_MAX_INFLIGHT,
    fetchMs: settings.NATS_FETCH_TIMEOUT_SECONDS * 1000,
    ackWaitMs: settings.NATS_ACK_WAIT_SECONDS * 1000,
    warmupMs: settings.NATS_WARMUP_TIMEOUT_SECONDS * 1000,
  });
};

try {
  await start(settingsFrom(process.env));
} catch (error) {
  process.stderr.write(`relay: ${error instanceof StartError ? error.message : String(error)}\n`);
  process.exit(1);
}
