import { type Load, type Measured, startLoad } from './load.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { startServer } from './server.ts';
import type { Way } from './ways.ts';

export interface Lives {
  inBatches: Measured;
  /** On the same server one after the other; each says how many lives the server has then behind it. */
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
  const inBatches = await onFreshServer('inBatches', async (load) => {
    await load.run(warmUp);
    return load.run((milestones[0] ?? 0) - warmUp);
  });
  return { oneByOne, inBatches };
};

/** Request sent to result seen, one life at a time. */
export const measureIdle = ({ idle }: Counts): Promise<Measured> =>
  onFreshServer('idle', async (load) => {
    await load.run(Math.ceil(idle / 3));
    return load.run(idle);
  });

const onFreshServer = async <T>(way: Way, measure: (load: Load) => Promise<T>): Promise<T> => {
  const dir = temporaryFolder();
  const server = await startServer(dir);
  const load = await startLoad(server, way);
  const result = await measure(load);
  await load.stop();
  await server.stop();
  removeFolder(dir);
  return result;
};
