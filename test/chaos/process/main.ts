import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { startHttpServer } from '../../../local/http-server.ts';
import { seeded } from '../../support/hostile-ports.ts';
import { MovableClock } from '../../support/movable-clock.ts';
import { startAwsInstance } from './aws-instance.ts';
import { startEmbedded } from './embedded.ts';
import type { Job, Order } from './job.ts';

/** One process of the system under chaos. It is killed from outside, and told from outside what goes wrong inside. */

const job: Job = JSON.parse(process.argv[2] ?? '');
const clock = new MovableClock();
clock.advance(job.aheadMs);

let isCalm = false;
const chance = seeded(job.seed);
/** Once it is calm nothing goes wrong any more. */
const random = (): number => (isCalm ? 0.999_999 : chance());

const disk = { isFull: false };
const { fstatSync, writeSync } = fs;
// @ts-expect-error: one of its forms, which is the one that the engine calls
fs.writeSync = (descriptor: number, block: Buffer, offset: number, length: number, at: number): number => {
  if (disk.isFull && at + length > fstatSync(descriptor).size)
    throw Object.assign(new Error('ENOSPC: the disk is full'), { code: 'ENOSPC' });
  return writeSync(descriptor, block, offset, length, at);
};
syncBuiltinESMExports();

const log = (level: string, message: string, facts?: object): void => {
  if (level === 'error') process.send?.({ trouble: `${message} ${JSON.stringify(facts ?? {})}` });
};

const world = { job, clock, random, log };
const system = job.engine === 'embedded' ? await startEmbedded(world) : await startAwsInstance(world);
const { port } = await startHttpServer(system.handle, job.port, '127.0.0.1');
await system.afterListening?.(port);

const carryOut = async (order: Order): Promise<unknown> => {
  switch (order.do) {
    case 'advance':
      return clock.advance(order.ms);
    case 'fill':
      disk.isFull = order.isFull;
      return undefined;
    case 'calm':
      isCalm = true;
      return undefined;
    default:
      return system.carryOut?.(order);
  }
};

process.on('message', async ({ id, order }: { id: number; order: Order }) => {
  const answer = await carryOut(order).then(
    (value) => ({ id, value }),
    (error) => ({ id, error: String(error) }),
  );
  process.send?.(answer);
});
process.on('disconnect', () => process.exit());
process.send?.({ port });
