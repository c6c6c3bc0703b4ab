import { type Load, type Measured, startLoad } from './load.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { type ServerProcess, startBareServer, startServer } from './server.ts';
import type { Way } from './ways.ts';

export interface Lives {
  twoCalls: Measured;
  inBatches: Measured;
  /** `after`: how many task cycles the server has completed before. */
  oneByOne: (Measured & { after: number })[];
}

export const measureLives = async ({ warmUp, milestones }: Counts): Promise<Lives> => {
  const oneByOne = await onFreshServer('oneByOne', async (load) => {
    await load.run(warmUp);
    const reached: Lives['oneByOne'] = [];
    for (const [at, after] of milestones.entries()) {
      reached.push({ ...(await load.run(after - (milestones[at - 1] ?? warmUp))), after });
    }
    return reached;
  });
  const briefly = (way: Way) =>
    onFreshServer(way, async (load) => {
      await load.run(warmUp);
      return load.run((milestones[0] ?? 0) - warmUp);
    });
  return { oneByOne, twoCalls: await briefly('twoCalls'), inBatches: await briefly('inBatches') };
};

export interface Idle extends Record<'idle' | 'idleTwoCalls', Measured> {
  bare: Measured;
}

/** Request sent to result seen, one task cycle at a time. */
export const measureIdle = async ({ idle }: Counts): Promise<Idle> => {
  const quietly = (way: Way, start = startServer) =>
    onFreshServer(
      way,
      async (load) => {
        await load.run(Math.ceil(idle / 3));
        return load.run(idle);
      },
      start,
    );
  return {
    bare: await quietly('idle', startBareServer),
    idle: await quietly('idle'),
    idleTwoCalls: await quietly('idleTwoCalls'),
  };
};

const onFreshServer = async <T>(
  way: Way,
  measure: (load: Load) => Promise<T>,
  start: (dir: string) => Promise<ServerProcess> = startServer,
): Promise<T> => {
  const dir = temporaryFolder();
  const server = await start(dir);
  const load = await startLoad(server, way);
  const result = await measure(load);
  await load.stop();
  await server.stop();
  removeFolder(dir);
  return result;
};
