import { z } from 'zod';
import type { Connection } from '../connection.ts';
import { type Content, requestOf, resultOf } from './content.ts';
import type { Site } from './site.ts';

const IN_FLIGHT = 16;
const CLAIM_MAX = 10;
const RESULTS_MAX = 25;

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

const together = async (many: number, connect: () => Connection, work: (connection: Connection) => Promise<void>) => {
  const connections = Array.from({ length: many }, connect);
  await Promise.all(connections.map(work));
  for (const connection of connections) connection.close();
};

/** Three calls per task cycle; `between` is awaited after each. */
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
        }
      });
    });
  };

export const oneByOne = lifeByLife(IN_FLIGHT);
export const alone = lifeByLife(1);

export const inBatches = async (site: Site, lives: number, content: Content): Promise<void> => {
  let requested = 0;
  await together(IN_FLIGHT, site.requester.connect, async (connection) => {
    while (requested < lives) {
      requested += 1;
      await request(site, connection, content);
    }
  });
  await together(1, site.worker.connect, async (connection) => {
    let unreported: string[] = [];
    for (let claimed = 0; claimed < lives; ) {
      const taskIds = await claim(connection, CLAIM_MAX);
      claimed += taskIds.length;
      unreported.push(...taskIds);
      while (unreported.length >= RESULTS_MAX || (claimed === lives && unreported.length > 0)) {
        await report(site, connection, unreported.slice(0, RESULTS_MAX), content);
        unreported = unreported.slice(RESULTS_MAX);
      }
    }
  });
};

const report = async ({ worker }: Site, connection: Connection, taskIds: string[], content: Content): Promise<void> => {
  const messages = taskIds.map((taskId) => resultOf(worker.id, taskId, content)).join();
  const answer = await connection.call('POST', '/v1/messages', `{"messages":[${messages}]}`, 200);
  if (answer.split('"status":202').length - 1 !== taskIds.length)
    throw new Error(`not all were accepted: ${answer.slice(0, 500)}`);
};
