import { Connection } from './connection.ts';
import { type Job, WAYS } from './ways.ts';
import { type Claims, resultOf } from './wire.ts';

const job: Job = JSON.parse(process.argv[2] ?? '');
const { workers, claimMax, reports } = WAYS[job.way];

const claimWith = (results: string[]): string => `{"max":${claimMax},"wait":20,"messages":[${results.join()}]}`;

const work = async (): Promise<never> => {
  const connection = new Connection(job.port, job.key);
  let unreported: string[] = [];
  for (;;) {
    const answer = await connection.call('POST', '/v1/claims', claimWith(unreported), 200);
    if (answer.split('"status":202').length - 1 !== unreported.length)
      throw new Error(`not all were accepted: ${answer}`);
    const { tasks }: Claims = JSON.parse(answer);
    unreported = tasks.map(({ message }) => resultOf(job.id, message.id));
    if (reports === 'with claim') continue;
    for (const result of unreported) await connection.call('POST', '/v1/messages', result, 202);
    unreported = [];
  }
};

for (let worker = 0; worker < workers; worker++) work();
process.on('disconnect', () => process.exit());
