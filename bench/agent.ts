import { Connection } from './connection.ts';
import { type Job, WAYS } from './ways.ts';
import { type Claims, resultOf } from './wire.ts';

const job: Job = JSON.parse(process.argv[2] ?? '');
const { workers, claimMax } = WAYS[job.way];
const claim = JSON.stringify({ max: claimMax, wait: 20 });

const work = async (): Promise<never> => {
  const connection = new Connection(job.port, job.key);
  for (;;) {
    const { tasks }: Claims = JSON.parse(await connection.call('POST', '/v1/claims', claim, 200));
    const results = tasks.map(({ message }) => resultOf(job.id, message.id));
    if (claimMax === 1) for (const result of results) await connection.call('POST', '/v1/messages', result, 202);
    else if (results.length > 0) await reportAll(connection, results);
  }
};

const reportAll = async (connection: Connection, results: string[]): Promise<void> => {
  const answer = await connection.call('POST', '/v1/messages', `{"messages":[${results.join()}]}`, 200);
  if (answer.split('"status":202').length - 1 !== results.length) throw new Error(`not all were accepted: ${answer}`);
};

for (let worker = 0; worker < workers; worker++) work();
process.on('disconnect', () => process.exit());
