import { z } from 'zod';
import type { AwsResponse } from '../gateway/aws-call.ts';
import { buildJsonRequest } from './call-json.ts';
import type { Forward } from './forward.ts';

const ReceiveBody = z.object({ QueueUrl: z.string(), ReceiveRequestAttemptId: z.string() });
const Received = z.object({ Messages: z.array(z.object({ ReceiptHandle: z.string() })).default([]) });

/** SQS keeps an attempt for five minutes; callers repeat it at once. */
const KEPT_MS = 10_000;

interface Attempt {
  answer: AwsResponse | undefined;
  isRepeated: boolean;
}

/**
 * The local SQS knows no attempt ids. A receive that is repeated under its id gets what the first one got; a first one that still
 * waits is over. Whoever hangs up without repeating it leaves a poll behind that goes on, as on AWS.
 */
export const supportReceiveAttempts = (forward: Forward): Forward => {
  const attempts = new Map<string, Attempt>();
  return async (request) => {
    if (request.headers['x-amz-target'] !== 'AmazonSQS.ReceiveMessage') return forward(request);
    const { data } = ReceiveBody.safeParse(JSON.parse(request.body.toString()));
    if (!data) return forward(request);
    const name = `${data.QueueUrl} ${data.ReceiveRequestAttemptId}`;
    const earlier = attempts.get(name);
    if (earlier?.answer) return earlier.answer;
    if (earlier) earlier.isRepeated = true;
    const attempt: Attempt = { answer: undefined, isRepeated: false };
    attempts.set(name, attempt);
    setTimeout(() => attempts.get(name) === attempt && attempts.delete(name), KEPT_MS).unref();
    const answer = await forward({ ...request, signal: undefined });
    attempt.answer = answer;
    if (!attempt.isRepeated) return answer;
    for (const { ReceiptHandle } of Received.safeParse(JSON.parse(answer.body.toString())).data?.Messages ?? []) {
      // One millisecond, as for any release here.
      const body = { QueueUrl: data.QueueUrl, ReceiptHandle, VisibilityTimeout: 0.001 };
      await forward(buildJsonRequest('local', 'us-east-1', 'sqs', 'AmazonSQS.ChangeMessageVisibility', body));
    }
    return answer;
  };
};
