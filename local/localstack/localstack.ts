import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from '../cli-options.ts';

/** The last version that runs without a token. */
export const VERSION = '4.14.0';

/** LocalStack, wherever it runs. */
export interface LocalStack {
  endpoint: string;
  stop(): Promise<void>;
}

export const SETTINGS = {
  // It would ask a service of its makers, which may be gone, what it can do.
  API_ENDPOINT: 'http://127.0.0.1:9',
  // The functions are for arm64 and contain nothing but JavaScript.
  LAMBDA_IGNORE_ARCHITECTURE: '1',
  // The default reads each item before and after a write to make its stream: two writers at once get wrong images.
  PROVIDER_OVERRIDE_DYNAMODB: 'v2',
  DYNAMODB_REMOVE_EXPIRED_ITEMS: '1',
  DYNAMODB_IN_MEMORY: '1',
  // The defaults are 1 and 10 s.
  LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC: '0.2',
  LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC: '1',
  // The default of 20 s is too short for many concurrent starts on a small machine.
  LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT: '120',
  // Nothing is reported.
  DISABLE_EVENTS: '1',
} as const;

export const waitForHealth = async (endpoint: string, timeoutMs: number, logs: string): Promise<void> => {
  const url = `${endpoint}/_localstack/health`;
  for (const until = Date.now() + timeoutMs; ; await pause(500)) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (Date.now() > until) throw new StartError(`LocalStack did not answer at ${url} in time. ${logs} says why.`);
  }
};
