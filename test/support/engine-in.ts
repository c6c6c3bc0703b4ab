import { randomUUID } from 'node:crypto';
import { type EmbeddedEngine, openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import type { Fairness } from '../../shared/ports/queues.ts';
import { TestClock } from './test-clock.ts';

/** The embedded engine on a folder of the test's own, with a clock that stands still. It follows tasks alone. */
export const engineIn = (dir: string, more: { fairness?: Fairness } = {}): EmbeddedEngine =>
  openEmbeddedEngine({
    dir,
    clock: new TestClock(),
    log: () => {},
    newId: randomUUID,
    kinds: ['task'],
    eventRetentionMs: 86_400_000,
    ...more,
  });
