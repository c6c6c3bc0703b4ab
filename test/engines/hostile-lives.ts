import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { about, type Reply, type TestAgent, taskRequest } from '../support/api.ts';
import type { Random } from '../support/hostile-ports.ts';

/** What the agents and requesters of one world have said and been told. */
export interface Witness {
  requests: Map<string, { requester: TestAgent; message: object; isCancelled: boolean }>;
  /** Who was given the task for this attempt, by `task#attempt`. */
  holders: Map<string, string>;
  /** The results that were accepted, by task: agent and message. */
  results: Map<string, { agent: TestAgent; message: { id: string } }[]>;
  progress: number;
}

export const newWitness = (): Witness => ({ requests: new Map(), holders: new Map(), results: new Map(), progress: 0 });

/** Asks until the answer is more than "try again"; anything unforeseen fails. */
export const insist = async (ask: () => Promise<Reply>): Promise<Reply> => {
  for (;;) {
    const reply = await ask();
    if (reply.status !== 503) {
      assert.ok(reply.status < 500, JSON.stringify(reply.body));
      return reply;
    }
    await pause(1);
  }
};

const isAccepted = ({ status }: Reply): boolean => status === 200 || status === 202;

/** The same message once, twice or three times at once: whether it was accepted. */
const sendOften = async (agent: TestAgent, message: object, random: Random): Promise<boolean> => {
  const copies = Array.from({ length: 1 + Math.floor(random() * 3) }, () => insist(() => agent.send(message)));
  const replies = await Promise.all(copies);
  const unforeseen = replies.find((reply) => !isAccepted(reply) && reply.status !== 409);
  assert.equal(unforeseen, undefined, JSON.stringify(unforeseen?.body));
  return replies.some(isAccepted);
};

/** Asks for something, and sometimes no longer wants it. */
export const requestOne = async (witness: Witness, requester: TestAgent, agents: TestAgent[], random: Random) => {
  const to = random() < 0.1 ? agents[Math.floor(random() * agents.length)]?.id : undefined;
  const priority = ['critical', 'high', 'normal', 'normal', 'low'][Math.floor(random() * 5)];
  const message = taskRequest(requester.id, {
    priority,
    ...(to && { to }),
    ...(random() < 0.15 && { ttl: 2 }),
    payload: { params: { text: 'x'.repeat(random() < 0.1 ? 6000 : 10) } },
  });
  assert.ok(await sendOften(requester, message, random), 'a request was refused');
  const isCancelled = random() < 0.1;
  witness.requests.set(message.id, { requester, message, isCancelled: false });
  if (!isCancelled) return;
  await pause(random() * 50);
  const reply = await insist(() => requester.call('POST', `/v1/tasks/${message.id}/cancel`));
  assert.ok([200, 409].includes(reply.status), JSON.stringify(reply.body));
  witness.requests.set(message.id, { requester, message, isCancelled: reply.status === 200 });
};

/** Claims and works until it is told to stop. */
export const work = async (witness: Witness, agent: TestAgent, random: Random, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const max = 1 + Math.floor(random() * 3);
    const { status, body } = await insist(() => agent.call('POST', '/v1/claims', { max }));
    assert.equal(status, 200, JSON.stringify(body));
    for (const { message, attempt } of body.tasks) noteHolder(witness, message.id, attempt, agent);
    await Promise.all(
      body.tasks.map((task: { message: { id: string }; attempt: number }) =>
        workOn(witness, agent, task.message.id, task.attempt, random),
      ),
    );
    if (body.tasks.length === 0) await pause(1);
  }
};

const noteHolder = (witness: Witness, taskId: string, attempt: number, agent: TestAgent): void => {
  const key = `${taskId}#${attempt}`;
  assert.equal(witness.holders.get(key) ?? agent.id, agent.id, `two agents were given attempt ${attempt} of ${taskId}`);
  witness.holders.set(key, agent.id);
};

const workOn = async (witness: Witness, agent: TestAgent, taskId: string, attempt: number, random: Random) => {
  const named = random() < 0.5 ? { attempt } : {};
  for (let steps = Math.floor(random() * 3); steps > 0; steps--) {
    const message = about('task.progress', agent.id, taskId, { percent: 10 * steps, ...named });
    if (await sendOften(agent, message, random)) witness.progress += 1;
  }
  const fate = random();
  if (fate < 0.1) return;
  if (fate < 0.2) await pause(random() * 400);
  if (fate < 0.3) {
    const error = ['model_error', 'model_error', 'skill_missing', 'invalid_params'][Math.floor(random() * 4)];
    await sendOften(agent, about('task.failed', agent.id, taskId, { error, ...named }), random);
    return;
  }
  const result = { format: 'markdown', content: 'y'.repeat(random() < 0.1 ? 6000 : 10) };
  const message = about('task.result', agent.id, taskId, { status: 'completed', result, ...named });
  if (!(await sendOften(agent, message, random))) return;
  witness.results.set(taskId, [...(witness.results.get(taskId) ?? []), { agent, message }]);
};
