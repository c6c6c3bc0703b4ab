import config from '../../parley.config.ts';
import type { Config } from '../../shared/config/config.ts';
import { createGuardedSender } from '../../shared/engines/outbound/guarded-sender.ts';
import { createDirectory } from '../../shared/identity/agents/directory.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { generateId } from '../../shared/kernel/ids.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { EngineUnderTest } from './engine-under-test.ts';

/** What the domain is given, on any engine. */
export const depsOn = (engine: EngineUnderTest, more: Partial<Config> = {}): Deps => {
  const clock = { ...systemClock, now: () => engine.now() };
  const directory = createDirectory(engine.ports.records, clock);
  const nowhere = (): void => {};
  return {
    ...engine.ports,
    clock,
    config: { ...config, ...more },
    directory,
    log: nowhere,
    recordMetric: nowhere,
    newId: generateId,
    httpSender: createGuardedSender({ allowsPrivate: false }),
  };
};
