import { randomUUID } from 'node:crypto';
import { connect } from '../../sdk/typescript/src/index.ts';
import { percentile } from '../numbers.ts';
import { CAPABILITY, type ClientJob, type ClientOrder, type ClientReport } from './jobs.ts';
import { createRawClient } from './raw-client.ts';

const CONCURRENCY = 64;
/** 200 bytes as JSON. */
const createInput = (index: number) => ({ index, kind: 'echo', args: { text: 'x'.repeat(150) } });
const createOutput = (input: { index: number }) => ({ index: input.index, ok: true, text: 'done' });

const { role, way, port, key }: ClientJob = JSON.parse(process.argv[2] ?? '{}');
const url = `http://127.0.0.1:${port}`;

const workBySdk = (): Promise<void> =>
  connect({ url, key })
    .worker({ concurrency: CONCURRENCY })
    .on<{ index: number }>(CAPABILITY, ({ input }) => createOutput(input))
    .run();

const workRaw = async (): Promise<void> => {
  const call = createRawClient(port, key);
  const loop = async (): Promise<void> => {
    for (let messages: object[] = []; ; ) {
      const body = { wait: 20, max: 1, dialect: 'native', ...(messages.length > 0 && { messages }) };
      const { tasks } = await call('POST', '/v1/claims', body);
      messages = tasks.map(
        ({ message, attempt }: { message: { id: string; input: { index: number } }; attempt: number }) => ({
          kind: 'result',
          taskId: message.id,
          attempt,
          output: createOutput(message.input),
        }),
      );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, loop));
};

const createSubmit = (): ((index: number) => Promise<{ index: number }>) => {
  if (way === 'sdk') {
    const parley = connect({ url, key });
    return (index) => parley.request<{ index: number }>(CAPABILITY, createInput(index)).result();
  }
  const call = createRawClient(port, key);
  return async (index) => {
    const message = { kind: 'request', id: randomUUID(), capability: CAPABILITY, input: createInput(index) };
    return (await call('POST', '/v1/messages?wait=20', message)).outcome.output;
  };
};

let count = 0;

const submitFor = async (
  submit: (index: number) => Promise<{ index: number }>,
  { ms, concurrency, rate }: ClientOrder,
): Promise<ClientReport> => {
  const took: number[] = [];
  const begun = performance.now();
  const cpu = process.cpuUsage();
  let next = begun;
  const loop = async (): Promise<void> => {
    while (performance.now() < begun + ms) {
      if (rate !== undefined) {
        next += 1000 / rate;
        const pause = next - performance.now();
        if (pause > 1) await new Promise((resolve) => setTimeout(resolve, pause));
      }
      const index = ++count;
      const at = performance.now();
      const output = await submit(index);
      if (output.index !== index) throw new Error(`the result of ${output.index} for ${index}`);
      took.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - begun) / 1000;
  const cpuMs = (user + system) / 1000;
  return { cycles: took.length, seconds, p50: percentile(took, 50), p99: percentile(took, 99), cpuMs };
};

if (role === 'worker') await (way === 'sdk' ? workBySdk() : workRaw());
else {
  const submit = createSubmit();
  process.on('message', async (order: ClientOrder) => process.send?.(await submitFor(submit, order)));
}
