import { Agent, type IncomingMessage, request } from 'node:http';
import { buildContext, callHandler, describeError, loadHandler } from '../cloudformation-runner/lambda/handler.ts';

/** What Lambda's runtime for Node does: takes one invocation after the other from the Runtime API. */

const { AWS_LAMBDA_RUNTIME_API, LAMBDA_TASK_ROOT = '', _HANDLER = '' } = process.env;
const BASE = `http://${AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;
const agent = new Agent({ keepAlive: true });

const call = async (path: string, body?: string): Promise<{ headers: IncomingMessage['headers']; text: string }> => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(BASE + path, { agent, method: body === undefined ? 'GET' : 'POST' }, resolve);
  outgoing.on('error', reject).end(body);
  const response = await promise;
  return { headers: response.headers, text: Buffer.concat(await response.toArray()).toString() };
};

const toErrorBody = (error: unknown): string => {
  const { errorType, errorMessage, trace } = describeError(error);
  return JSON.stringify({ errorType, errorMessage, stackTrace: trace });
};

const handler = await loadHandler(LAMBDA_TASK_ROOT, _HANDLER).catch(async (error: unknown) => {
  await call('/init/error', toErrorBody(error));
  process.exit(1);
});

for (;;) {
  const { headers, text } = await call('/invocation/next');
  const requestId = String(headers['lambda-runtime-aws-request-id']);
  const context = buildContext({
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    invokedFunctionArn: String(headers['lambda-runtime-invoked-function-arn']),
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    awsRequestId: requestId,
    deadline: Number(headers['lambda-runtime-deadline-ms']),
  });
  process.env._X_AMZN_TRACE_ID = String(headers['lambda-runtime-trace-id']);
  const { path, body } = await callHandler(handler, text, context).then(
    (result) => ({ path: 'response', body: result }),
    (error: unknown) => ({ path: 'error', body: toErrorBody(error) }),
  );
  process.stdout.write(`END RequestId: ${requestId}\n`);
  await call(`/invocation/${requestId}/${path}`, body);
}
