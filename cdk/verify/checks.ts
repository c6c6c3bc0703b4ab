import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, formatTimes, getMedian, judge, leaveOut } from './check.ts';
import { loadCheck } from './load-check.ts';
import { type ParleyClient, readField } from './parley-client.ts';

const MESSAGES = 100;
const CLAIM_WAIT_S = 20;
/** More than this between a task's arrival and the claim that waits for it is a second queue that holds it up. */
const MAX_QUEUE_DELAY_MS = 400;
const SETTLE_MS = 5000;
/** Until a claim waits. */
const BEFORE_REQUEST_MS = 1000;

const cycleCheck: Check = {
  title: 'One task cycle',
  expected: 'A request, a claim, a result, and the result in the inbox of the requester, once.',
  run: async ({ admin }) => {
    const [requester, worker] = [await admin.register('requester'), await admin.registerWorker()];
    const { taskId } = await requester.request();
    const { taskIds } = await worker.claim(CLAIM_WAIT_S);
    await worker.complete(taskId);
    const { messages } = await requester.take();
    const again = await requester.take();
    const isRight = taskIds.join() === taskId && messages.length === 1 && again.messages.length === 0;
    return judge(isRight, `Claimed ${taskIds.length}, read ${messages.length}, left ${again.messages.length}.`);
  },
};

/** From a request to the answer of a claim that waited before. */
const measureWaits = async (requester: ParleyClient, worker: ParleyClient, claims: number): Promise<number[]> => {
  const times: number[] = [];
  for (let n = 0; n < claims; n++) {
    const claiming = worker.claim(CLAIM_WAIT_S).then(({ taskIds }) => ({ taskIds, at: performance.now() }));
    await sleep(BEFORE_REQUEST_MS);
    await requester.request();
    const sent = performance.now();
    const { taskIds, at } = await claiming;
    for (const taskId of taskIds) await worker.complete(taskId);
    if (taskIds.length > 0) times.push(at - sent);
  }
  await requester.take();
  return times;
};

const waitCheck: Check = {
  title: 'A claim that waits, with one queue in use and with two',
  expected: `A task reaches it at once: two queues cost no more than ${MAX_QUEUE_DELAY_MS} ms at the median.`,
  run: async ({ admin, options: { claims } }) => {
    const [requester, worker] = [await admin.register('requester'), await admin.registerWorker()];
    const one = await measureWaits(requester, worker, claims);
    await requester.request({ priority: 'high' });
    for (const taskId of (await worker.claim(CLAIM_WAIT_S)).taskIds) await worker.complete(taskId);
    const two = await measureWaits(requester, worker, claims);
    const isRight = one.length > 0 && two.length > 0 && getMedian(two) - getMedian(one) <= MAX_QUEUE_DELAY_MS;
    return judge(isRight, `one queue: ${formatTimes(one)}`, `two queues: ${formatTimes(two)}`);
  },
};

const throttleCheck: Check = {
  title: 'Throttles of two routes',
  expected: 'Each route has a bucket of its own: what one is refused does not depend on the other.',
  run: async ({ options }) => {
    if (options.burst === 0) return leaveOut('--burst 1500 sends that many calls a second to each of two routes.');
    const flood = async (method: string, path: string): Promise<{ refused: number; sent: number }> => {
      const answers: Promise<number>[] = [];
      for (let second = 0; second < 3; second++) {
        for (let n = 0; n < options.burst; n++)
          answers.push(fetch(`${options.url}${path}`, { method }).then(({ status }) => status));
        await sleep(1000);
      }
      const statuses = await Promise.all(answers);
      return { sent: statuses.length, refused: statuses.filter((status) => status === 429).length };
    };
    const alone = await flood('POST', '/v1/claims');
    await sleep(SETTLE_MS);
    const [first, second] = await Promise.all([flood('POST', '/v1/claims'), flood('GET', '/v1/inbox')]);
    const show = ({ refused, sent }: typeof alone): string => `${refused} of ${sent} refused`;
    return {
      verdict: 'look yourself',
      facts: [`claims alone: ${show(alone)}`, `claims beside inbox: ${show(first)}`, `inbox: ${show(second)}`],
    };
  },
};

const idleCheck: Check = {
  title: 'Agents that wait',
  expected: 'They get no error. Cost Explorer says the next day what they cost.',
  run: async ({ admin, options: { idleAgents, idleSeconds } }) => {
    if (idleAgents === 0) return leaveOut('--idle-agents 20 --idle-seconds 3600 lets that many agents wait.');
    const begun = performance.now();
    const agents = await Promise.all(Array.from({ length: idleAgents }, admin.registerWorker));
    let calls = 0;
    const wait = async (agent: ParleyClient): Promise<void> => {
      while (performance.now() - begun < idleSeconds * 1000) {
        await agent.claim(Math.min(CLAIM_WAIT_S, idleSeconds));
        calls += 1;
      }
    };
    await Promise.all(agents.map(wait));
    return {
      verdict: 'look yourself',
      facts: [`${idleAgents} agents waited for ${idleSeconds} s, in ${calls} claims.`],
    };
  },
};

const orderCheck: Check = {
  title: 'Messages to one agent',
  expected: 'All arrive once. Their order on AWS is the best effort; what was sent one by one mostly comes so.',
  run: async ({ admin }) => {
    const [sender, reader] = [await admin.register('sender'), await admin.register('reader')];
    for (let n = 0; n < MESSAGES; n++) await sender.send(reader.id, n);
    const got: number[] = [];
    for (let tries = 0; got.length < MESSAGES && tries < 10; tries++) {
      const { messages } = await reader.take();
      got.push(...messages.map((message) => Number(readField(message, 'content'))));
      if (messages.length === 0) await sleep(500);
    }
    const swaps = got.filter((n, at) => at > 0 && n < (got[at - 1] ?? 0)).length;
    const isWhole = got.length === MESSAGES && new Set(got).size === MESSAGES;
    return judge(isWhole, `${got.length} of ${MESSAGES} arrived, ${swaps} of them behind a later one.`);
  },
};

const outageCheck: Check = {
  title: 'Without dispatch for some minutes',
  expected: 'Requests are taken and claimed meanwhile, and what follows from them comes when dispatch is back.',
  run: async ({ admin, aws, options }) => {
    if (aws === undefined || options.breakSeconds === 0)
      return leaveOut('--break-seconds 300 stops dispatch, and needs credentials for the account.');
    const name = `parley-${options.stage}-dispatch`;
    await aws('lambda', 'put-function-concurrency', '--function-name', name, '--reserved-concurrent-executions', '0');
    const [requester, worker] = [await admin.register('requester'), await admin.registerWorker()];
    let taskIds: string[] = [];
    try {
      await requester.request();
      ({ taskIds } = await worker.claim(CLAIM_WAIT_S));
      for (const taskId of taskIds) await worker.complete(taskId);
      await sleep(options.breakSeconds * 1000);
    } finally {
      await aws('lambda', 'delete-function-concurrency', '--function-name', name);
    }
    const begun = performance.now();
    const [taskId = ''] = taskIds;
    let isTold = false;
    while (!isTold && performance.now() - begun < options.breakSeconds * 2000) {
      await sleep(1000);
      const { body } = await admin.expect(200, 'GET', '/v1/events?types=task.completed&order=newest&limit=100');
      isTold = JSON.stringify(body).includes(taskId);
    }
    const late = Math.round((performance.now() - begun) / 1000);
    return judge(
      taskIds.length === 1 && isTold,
      isTold ? `The event came ${late} s later.` : 'The event did not come.',
    );
  },
};

const byHand = (title: string, expected: string, how: string): Check => ({
  title,
  expected,
  run: async () => leaveOut(how),
});

export const CHECKS: readonly Check[] = [
  cycleCheck,
  loadCheck,
  waitCheck,
  throttleCheck,
  idleCheck,
  outageCheck,
  orderCheck,
  byHand('Pause', 'Nothing is lost.', 'By hand: deploy with `paused: true`, send a task, deploy without it.'),
  byHand('Restore', 'The data of a moment is back.', 'By hand: docs/guides/deploy.md#backup-and-restore.'),
];
