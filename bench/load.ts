import { join } from 'node:path';
import { ended, forked } from './own-processes.ts';
import { cpuOf, machineCpuMs, residentMb } from './process-usage.ts';
import type { ServerProcess } from './server.ts';
import { type Job, type Lived, WAYS, type Way } from './ways.ts';

export interface Measured extends Lived {
  livesPerSecond: number;
  serverCpuMsPerLife: number;
  systemCpuMsPerLife: number;
  /** Near 1, the main thread is saturated. */
  mainThreadBusy: number;
  residentMb: number;
  /** Cores used by other processes. If not near 0, the figures are those of a smaller machine. */
  coresTaken: number;
}

export interface Load {
  run(lives: number): Promise<Measured>;
  stop(): Promise<void>;
}

let loads = 0;

export const startLoad = async (server: ServerProcess, way: Way): Promise<Load> => {
  const name = `${way.toLowerCase()}-${++loads}`;
  const start = async (role: 'submitter' | 'agent') => {
    const id = `${role}-${name}`;
    const job: Job = { port: server.port, id, key: await server.register(id), way };
    return forked(join(import.meta.dirname, `${role}.ts`), [JSON.stringify(job)], { execArgv: [] });
  };
  const agent = await start('agent');
  const submitter = await start('submitter');
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => {});
  for (const child of [agent, submitter])
    child.once('exit', () => reject(new Error(`${child.spawnargs.at(-2)} ended`)));
  const lived = (lives: number): Promise<Lived> => {
    const answer = new Promise<Lived>((resolve) => submitter.once('message', (message: Lived) => resolve(message)));
    submitter.send(lives);
    return Promise.race([answer, broken]);
  };
  const ownPids = [process.pid, server.pid, agent.pid ?? 0, submitter.pid ?? 0];
  const takenByOthers = (): number =>
    ownPids.map(cpuOf).reduce((left, { user, system }) => left - user - system, machineCpuMs());
  return {
    run: async (lives) => {
      const before = cpuOf(server.pid);
      const takenBefore = takenByOthers();
      const done = await lived(lives);
      const after = cpuOf(server.pid);
      process.stderr.write(`  … ${lives} lives ${WAYS[way].label} in ${done.seconds.toFixed(1)} s\n`);
      const system = after.system - before.system;
      return {
        ...done,
        livesPerSecond: lives / done.seconds,
        serverCpuMsPerLife: (after.user - before.user + system) / lives,
        systemCpuMsPerLife: system / lives,
        mainThreadBusy: (after.mainThread - before.mainThread) / 1000 / done.seconds,
        residentMb: residentMb(server.pid),
        coresTaken: (takenByOthers() - takenBefore) / 1000 / done.seconds,
      };
    },
    stop: async () => {
      await ended(submitter, 'SIGTERM');
      await ended(agent, 'SIGTERM');
    },
  };
};
