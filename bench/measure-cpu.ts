import { type CpuShares, sharesIn } from './cpu-profile.ts';
import { startLoad } from './load.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { startServer } from './server.ts';
import type { Way } from './ways.ts';

export type CpuByWay = Record<'oneByOne' | 'inBatches', CpuShares>;

export const measureCpu = async (counts: Counts): Promise<CpuByWay> => ({
  oneByOne: await profiled('oneByOne', counts),
  inBatches: await profiled('inBatches', counts),
});

const profiled = async (way: Way, counts: Counts): Promise<CpuShares> => {
  const [dir, profiles] = [temporaryFolder(), temporaryFolder()];
  const server = await startServer(dir, ['--cpu-prof', '--cpu-prof-dir', profiles]);
  const load = await startLoad(server, way);
  await load.run(counts.profiled);
  await load.stop();
  await server.stop();
  const shares = sharesIn(profiles);
  for (const folder of [dir, profiles]) removeFolder(folder);
  return shares;
};
