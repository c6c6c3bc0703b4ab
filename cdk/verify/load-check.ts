import { setTimeout as sleep } from 'node:timers/promises';
import { readMetric } from './aws-cli.ts';
import { type Check, type CheckContext, formatTimes, judge } from './check.ts';
import type { ParleyClient } from './parley-client.ts';

/** CloudWatch has the numbers of a minute some minutes later. */
const METRIC_DELAY_MS = 180_000;
const WORKERS = 8;
const CLAIM_WAIT_S = 5;
/** A conditional write that is refused is billed. */
const MAX_REFUSED_PER_CYCLE = 0.2;

export const loadCheck: Check = {
  title: 'Task cycles one by one',
  expected: `All end, and no more than ${MAX_REFUSED_PER_CYCLE} writes a cycle are refused. The stream is not late.`,
  run: async (context) => {
    const since = new Date();
    const { done, begun, times } = await runLoad(context);
    const facts = [
      `${done} of ${begun} cycles ended.`,
      ...Object.entries(times).map(([call, ms]) => `${call}: ${formatTimes(ms)}`),
    ];
    const refused = await readAccount(context, since, done, facts);
    return judge(done === begun && refused <= MAX_REFUSED_PER_CYCLE, ...facts);
  },
};

const runLoad = async ({ admin, options }: CheckContext) => {
  const requester = await admin.register('requester');
  const workers = await Promise.all(Array.from({ length: WORKERS }, admin.registerWorker));
  const times: Record<string, number[]> = { request: [], claim: [], result: [], read: [] };
  const wanted = options.seconds * options.rate;
  let [begun, done, isOver] = [0, 0, false];
  const work = async (worker: ParleyClient): Promise<void> => {
    while (!isOver || done < begun) {
      const { taskIds, ms } = await worker.claim(CLAIM_WAIT_S);
      if (taskIds.length === 0 && isOver) return;
      for (const taskId of taskIds) {
        times.claim?.push(ms);
        times.result?.push((await worker.complete(taskId)).ms);
        done += 1;
      }
    }
  };
  const working = workers.map(work);
  const requesting: Promise<void>[] = [];
  for (let n = 0; n < wanted; n++) {
    begun += 1;
    requesting.push(requester.request().then(({ ms }) => void times.request?.push(ms)));
    await sleep(1000 / options.rate);
  }
  await Promise.all(requesting);
  isOver = true;
  await Promise.all(working);
  for (let got = 0; got < done; ) {
    const { messages, ms } = await requester.take();
    times.read?.push(ms);
    if (messages.length === 0) break;
    got += messages.length;
  }
  return { begun, done, times };
};

/** Returns the refused writes of a cycle. */
const readAccount = async ({ aws, options }: CheckContext, since: Date, cycles: number, facts: string[]) => {
  if (aws === undefined) {
    facts.push('Without credentials for the account, its metrics were not read.');
    return 0;
  }
  await sleep(METRIC_DELAY_MS);
  const dispatch = { FunctionName: `parley-${options.stage}-dispatch` };
  const table = await findTable(aws, options.stage);
  const ofTable = { namespace: 'AWS/DynamoDB', dimensions: { TableName: table }, since };
  const ofDispatch = { namespace: 'AWS/Lambda', dimensions: dispatch, since };
  const refused = await readMetric(aws, { ...ofTable, name: 'ConditionalCheckFailedRequests', statistic: 'Sum' });
  const duration = await readMetric(aws, { ...ofDispatch, name: 'Duration', statistic: 'p99' });
  const age = await readMetric(aws, { ...ofDispatch, name: 'IteratorAge', statistic: 'Maximum' });
  facts.push(
    `Refused writes: ${refused}, ${(refused / Math.max(1, cycles)).toFixed(2)} a cycle.`,
    `dispatch: p99 ${Math.round(duration)} ms; the oldest change was ${Math.round(age)} ms old.`,
  );
  return refused / Math.max(1, cycles);
};

const findTable = async (aws: NonNullable<CheckContext['aws']>, stage: string): Promise<string> => {
  const answer = await aws('cloudformation', 'describe-stacks', '--stack-name', `parley-${stage}`);
  const outputs: unknown[] = Object(answer).Stacks?.[0]?.Outputs ?? [];
  const found = outputs.find((output) => Object(output).OutputKey === 'TableName');
  return String(Object(found).OutputValue);
};
