import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartError } from '../cli-options.ts';

/** The last version that runs without a token. */
const IMAGE = 'localstack/localstack:4.14.0';
const CONTAINER_NAME = 'parley-localstack';
/** The first start downloads a gigabyte. */
const START_TIMEOUT_MS = 300_000;

const runDocker = (...args: string[]): Promise<{ stdout: string }> => promisify(execFile)('docker', args);

export interface Container {
  endpoint: string;
  stop(): Promise<void>;
}

export const startContainer = async (port: number): Promise<Container> => {
  await runDocker('info').catch((cause: unknown) => {
    throw new StartError('Docker does not answer. Start it, or run the same template without it: npm run start:aws.', {
      cause,
    });
  });
  await runDocker(
    ...['run', '--detach', '--rm', '--name', CONTAINER_NAME, '--publish', `127.0.0.1:${port}:4566`],
    // LocalStack runs each function in a container.
    ...['--volume', '/var/run/docker.sock:/var/run/docker.sock'],
    // An unsupported resource type must fail the deployment.
    ...['--env', 'CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES=0'],
    IMAGE,
  );
  const endpoint = `http://localhost:${port}`;
  const stop = async (): Promise<void> => {
    await runDocker('stop', CONTAINER_NAME);
  };
  try {
    await waitForHealth(`${endpoint}/_localstack/health`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop };
};

const waitForHealth = async (url: string): Promise<void> => {
  for (const until = Date.now() + START_TIMEOUT_MS; ; await pause(500)) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (Date.now() > until)
      throw new StartError(`LocalStack did not answer at ${url} in time. docker logs ${CONTAINER_NAME} says why.`);
  }
};
