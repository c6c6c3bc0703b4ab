import { generateKey, RELAY_OWNER } from '../../shared/identity/auth/keys.ts';
import { type NatsServer, natsServer } from '../support/nats-server.ts';
import { type Owner, tempDir } from '../support/server-process.ts';
import { type CutWire, cutWire } from './cut-wire.ts';
import type { ChaosOptions } from './options.ts';
import { Instance, newJob, SystemUnderChaos } from './system.ts';

export interface NatsSide {
  server: NatsServer;
  /** Between the relay and NATS, and between the relay and Parley. */
  wires: CutWire[];
}

/** One process on a folder, whose relay reaches NATS and Parley over wires that can be cut. */
export const startEmbeddedSystem = async (
  owner: Owner,
  { seed, faults }: Pick<ChaosOptions, 'seed' | 'faults'>,
): Promise<{ system: SystemUnderChaos; nats: NatsSide | undefined }> => {
  const job = await newJob({ engine: 'embedded', seed, faults, dir: tempDir(owner) });
  let nats: NatsSide | undefined;
  if (faults.includes('nats')) {
    const server = await natsServer(owner);
    const wires = [await cutWire(owner, server.port), await cutWire(owner, job.port)];
    const [toNats, toParley] = wires.map(({ port }) => port);
    const key = generateKey('default', RELAY_OWNER);
    job.nats = { url: `nats://127.0.0.1:${toNats}`, address: `http://127.0.0.1:${toParley}`, key };
    nats = { server, wires };
  }
  const troubles: string[] = [];
  const instance = new Instance(owner, job, troubles);
  await instance.start();
  return { system: new SystemUnderChaos([instance], troubles, seed), nats };
};
