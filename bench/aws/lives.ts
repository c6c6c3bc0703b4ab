import { z } from 'zod';
import type { Connection } from '../connection.ts';
import { type Content, requestOf, resultOf } from './content.ts';
import type { Site } from './site.ts';

const IN_FLIGHT = 16;
const CLAIM_MAX = 10;
const MESSAGES_MAX = 25;

const Claims = z.object({ tasks: z.array(z.object({ message: z.object({ id: z.string() }) })) });

const request = async ({ requester }: Site, connection: Connection, content: Content): Promise<void> => {
  await connection.call('POST', '/v1/messages', requestOf(requester.id, content), 202);
};

const claim = async (connection: Connection, max: number): Promise<string[]> => {
  // The request came first, so no claim has to wait.
  for (;;) {
    const answer = await connection.call('POST', '/v1/claims', JSON.stringify({ max }), 200);
    const { tasks } = Claims.parse(JSON.parse(answer));
    if (tasks.length > 0) return tasks.map(({ message }) => message.id);
  }
};

const Inbox = z.object({ messages: z.array(z.unknown()) });

/** As the SDK does: it knows the task. The result is there before the worker is answered. */
const readTask = async (connection: Connection, taskId: string): Promise<void> => {
  const answer = await connection.call('GET', `/v1/tasks/${taskId}`, '', 200);
  if (TaskState.parse(JSON.parse(answer)).state !== 'completed') throw new Error(`no result of ${taskId} yet`);
};

const TaskState = z.object({ state: z.string() });

/** As requesters do that know no task: the entry leaves the inbox. */
const read = async (connection: Connection, max: number): Promise<number> => {
  const answer = await connection.call('GET', `/v1/inbox?mode=take&max=${max}`, '', 200);
  return Inbox.parse(JSON.parse(answer)).messages.length;
};

const together = async (many: number, connect: () => Connection, work: (connection: Connection) => Promise<void>) => {
  const connections = Array.from({ length: many }, connect);
  await Promise.all(connections.map(work));
  for (const connection of connections) connection.close();
};

/** Four calls per task cycle: a request, a claim, a result, and reading it. `between` is awaited after each. */
const lifeByLife =
  (inFlight: number) =>
  async (site: Site, lives: number, content: Content, between?: () => Promise<void>): Promise<void> => {
    let begun = 0;
    await together(inFlight, site.requester.connect, async (requesting) => {
      await together(1, site.worker.connect, async (working) => {
        while (begun < lives) {
          begun += 1;
          await request(site, requesting, content);
          await between?.();
          // Any task will do: each agent claims as many as it requested.
          const [taskId = ''] = await claim(working, 1);
          await between?.();
          await working.call('POST', '/v1/messages', resultOf(site.worker.id, taskId, content), 202);
          await between?.();
          await readTask(requesting, taskId);
          await between?.();
        }
      });
    });
  };

export const oneByOne = lifeByLife(IN_FLIGHT);
export const alone = lifeByLife(1);

/** Requests and results in messages of 25, claims of 10, and results read 25 at a time. */
export const inBatches = async (site: Site, lives: number, content: Content): Promise<void> => {
  const texts = Array.from({ length: lives }, () => requestOf(site.requester.id, content));
  await together(1, site.requester.connect, async (connection) => {
    for (let at = 0; at < lives; at += MESSAGES_MAX) await send(connection, texts.slice(at, at + MESSAGES_MAX));
  });
  await together(1, site.worker.connect, async (connection) => {
    let unreported: string[] = [];
    for (let claimed = 0; claimed < lives; ) {
      const taskIds = await claim(connection, CLAIM_MAX);
      claimed += taskIds.length;
      unreported.push(...taskIds.map((taskId) => resultOf(site.worker.id, taskId, content)));
      while (unreported.length >= MESSAGES_MAX || (claimed === lives && unreported.length > 0)) {
        await send(connection, unreported.slice(0, MESSAGES_MAX));
        unreported = unreported.slice(MESSAGES_MAX);
      }
    }
  });
  await together(1, site.requester.connect, async (connection) => {
    for (let got = 0; got < lives; ) got += await read(connection, MESSAGES_MAX);
  });
};

const send = async (connection: Connection, messages: string[]): Promise<void> => {
  const answer = await connection.call('POST', '/v1/messages', `{"messages":[${messages.join()}]}`, 200);
  if (answer.split('"status":202').length - 1 !== messages.length)
    throw new Error(`not all were accepted: ${answer.slice(0, 500)}`);
};
