import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../support/hostile-ports.ts';
import type { NatsSide } from './embedded-side.ts';
import type { Fault } from './options.ts';
import type { SystemUnderChaos } from './system.ts';

const FORWARD_MS = 4000;
const MINUTE_MS = 60_000;
const BACK_MS = -1000;

/** One after the other, while there is load; what else goes wrong does so within the parts themselves. */
export const makeTrouble = async (
  system: SystemUnderChaos,
  nats: NatsSide | undefined,
  faults: readonly Fault[],
  random: Random,
  signal: AbortSignal,
): Promise<Record<string, number>> => {
  const made: Record<string, number> = {};
  const actions = listActions(system, nats, faults, random);
  while (!signal.aborted && actions.length > 0) {
    await pause(100 + random() * 500);
    const [name, act] = actions[Math.floor(random() * actions.length)] ?? actions[0] ?? [];
    if (!name || !act || signal.aborted) break;
    made[name] = (made[name] ?? 0) + 1;
    await act();
  }
  return made;
};

const listActions = (
  system: SystemUnderChaos,
  nats: NatsSide | undefined,
  faults: readonly Fault[],
  random: Random,
): [string, () => Promise<void>][] => {
  const has = (fault: Fault): boolean => faults.includes(fault);
  const actions: [string, () => Promise<void>][] = [];
  if (has('kill')) actions.push(['kills', () => system.kill(Math.floor(random() * 10))]);
  if (has('clock')) actions.push(['jumps of the clock', () => system.advance(jump(random))]);
  if (has('disk') && system.instances.length === 1)
    actions.push([
      'full disks',
      async () => {
        await system.fill(true);
        await pause(50 + random() * 250);
        await system.fill(false);
      },
    ]);
  if (nats)
    actions.push([
      'partitions',
      async () => {
        const wire = nats.wires[Math.floor(random() * nats.wires.length)];
        wire?.cut();
        await pause(100 + random() * 400);
        wire?.heal();
      },
    ]);
  return actions;
};

const jump = (random: Random): number => {
  const kind = random();
  if (kind < 0.15) return MINUTE_MS;
  return kind < 0.3 ? BACK_MS : random() * FORWARD_MS;
};
