import { parentPort, workerData } from 'node:worker_threads';
import { buildContext, callHandler, describeError, type Handler, loadHandler } from './handler.ts';
import { getMemoryMb } from './instance-memory.ts';
import type { FromInstance, InstanceData, Invocation, InvocationOutcome } from './instance-messages.ts';

const data: InstanceData = workerData;
const postToParent = (message: FromInstance): void => parentPort?.postMessage(message);

const getCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const run = async (handler: Handler, { event, requestId, deadline }: Invocation): Promise<InvocationOutcome> => {
  const context = buildContext({
    functionName: data.functionName,
    invokedFunctionArn: data.functionArn,
    memoryLimitInMB: String(data.memoryMb),
    awsRequestId: requestId,
    deadline,
  });
  try {
    return { ok: true, result: await callHandler(handler, event, context) };
  } catch (error) {
    return { ok: false, ...describeError(error) };
  }
};

// Load time counts for the first invocation; the thread's own start does not count.
let countedMs = getCpuMs();
const loading = loadHandler(data.folder, data.handler).then(
  (handler) => ({ handler, failure: undefined }),
  (error: unknown) => ({ handler: undefined, failure: { ok: false, ...describeError(error) } as const }),
);
loading.then(() => postToParent('loaded'));

parentPort?.on('message', async (invocation: Invocation) => {
  const { handler, failure } = await loading;
  const outcome = handler ? await run(handler, invocation) : failure;
  const usedMs = getCpuMs() - countedMs;
  countedMs += usedMs;
  const memoryMb = getMemoryMb();
  postToParent({ outcome, cpuMs: usedMs, memoryMb });
  // Lambda replaces an environment that failed to load.
  if (!handler) process.exit(1);
});
