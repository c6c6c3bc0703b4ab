import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartError } from '../options.ts';

/** The last version that runs without a token. */
const IMAGE = 'localstack/localstack:4.14.0';
const NAME = 'parley-localstack';
/** The first start fetches a gigabyte. */
const PATIENCE_MS = 300_000;

const docker = (...args: string[]): Promise<{ stdout: string }> => promisify(execFile)('docker', args);

export interface Container {
  endpoint: string;
  stop(): Promise<void>;
}

export const startContainer = async (port: number): Promise<Container> => {
  await docker('info').catch((cause: unknown) => {
    throw new StartError('Docker does not answer. Start it, or run the same template without it: npm run start:aws.', {
      cause,
    });
  });
  await docker(
    ...['run', '--detach', '--rm', '--name', NAME, '--publish', `127.0.0.1:${port}:4566`],
    // LocalStack runs each function in a container of its own.
    ...['--volume', '/var/run/docker.sock:/var/run/docker.sock'],
    // A type that it does not have must be an error, not something that only looks deployed.
    ...['--env', 'CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES=0'],
    IMAGE,
  );
  const endpoint = `http://localhost:${port}`;
  const stop = async (): Promise<void> => {
    await docker('stop', NAME);
  };
  try {
    await answers(`${endpoint}/_localstack/health`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop };
};

const answers = async (url: string): Promise<void> => {
  for (const until = Date.now() + PATIENCE_MS; ; await pause(500)) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (Date.now() > until)
      throw new StartError(`LocalStack did not answer at ${url} in time. docker logs ${NAME} says why.`);
  }
};
