import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import type { FromInstance, InstanceData, Invocation, InvocationOutcome } from './instance-messages.ts';

const data: InstanceData = workerData;
const postToParent = (message: FromInstance): void => parentPort?.postMessage(message);

type Handler = (event: unknown, context: object, callback: (error: unknown, result?: unknown) => void) => unknown;

const getCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const load = async (): Promise<Handler> => {
  const dot = data.handler.lastIndexOf('.');
  const base = join(data.folder, data.handler.slice(0, dot));
  const file = ['.mjs', '.js', '.cjs'].map((ending) => base + ending).find((each) => existsSync(each));
  if (!file) throw new Error(`Cannot find module '${data.handler.slice(0, dot)}'`);
  const module: Record<string, unknown> = await import(pathToFileURL(file).href);
  const handler = module[data.handler.slice(dot + 1)];
  if (!isHandler(handler)) throw new Error(`${data.handler} is undefined or not exported`);
  return handler;
};

const isHandler = (value: unknown): value is Handler => typeof value === 'function';

const toErrorMessage = (error: unknown): InvocationOutcome & { ok: false } => ({
  ok: false,
  errorType: error instanceof Error ? error.name : 'Error',
  errorMessage: error instanceof Error ? error.message : String(error),
  trace: error instanceof Error ? (error.stack ?? '').split('\n') : [],
});

const buildContext = ({ requestId, deadline }: Invocation): object => ({
  callbackWaitsForEmptyEventLoop: true,
  functionName: data.functionName,
  functionVersion: '$LATEST',
  invokedFunctionArn: data.functionArn,
  memoryLimitInMB: String(data.memoryMb),
  awsRequestId: requestId,
  logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
  logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
});

const run = async (handler: Handler, invocation: Invocation): Promise<InvocationOutcome> => {
  try {
    const result = await new Promise((resolve, reject) => {
      const callback = (error: unknown, value?: unknown): void => (error ? reject(error) : resolve(value));
      const returned = handler(JSON.parse(invocation.event), buildContext(invocation), callback);
      if (returned !== undefined || handler.length < 3) resolve(returned);
    });
    return { ok: true, result: JSON.stringify(result) ?? 'null' };
  } catch (error) {
    return toErrorMessage(error);
  }
};

// Load time counts for the first invocation; the thread's own start does not count.
let countedMs = getCpuMs();
const loading = load().then(
  (handler) => ({ handler, failure: undefined }),
  (error: unknown) => ({ handler: undefined, failure: toErrorMessage(error) }),
);
loading.then(() => postToParent('loaded'));

parentPort?.on('message', async (invocation: Invocation) => {
  const { handler, failure } = await loading;
  const outcome = handler ? await run(handler, invocation) : failure;
  const usedMs = getCpuMs() - countedMs;
  countedMs += usedMs;
  postToParent({ outcome, cpuMs: usedMs });
  // Lambda replaces an environment that failed to load.
  if (!handler) process.exit(1);
});
