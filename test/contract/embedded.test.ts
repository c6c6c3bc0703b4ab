import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedEngine, openEngine } from '../../shared/engines/embedded/engine.ts';
import { TestClock } from '../support/test-clock.ts';
import { engineContract } from './engine-contract.ts';
import { type Open, WATCHED } from './engine-under-test.ts';

const open: Open = async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'parley-contract-'));
  const clock = new TestClock();
  const engines: EmbeddedEngine[] = [];
  const start = (): EmbeddedEngine => {
    const engine = openEngine({
      dir: join(root, String(engines.length)),
      clock,
      log: () => {},
      newId: randomUUID,
      watched: [WATCHED],
      eventsKeepMs: 30 * 86_400_000,
    });
    engines.push(engine);
    return engine;
  };
  let engine = start();
  let followers = undefined as Parameters<EmbeddedEngine['start']>[0] | undefined;
  let crash = Promise.withResolvers<void>();
  t.after(async () => {
    crash.resolve();
    for (const each of engines) await each.stop();
    rmSync(root, { recursive: true });
  });
  return {
    get ports() {
      return engine.ports;
    },
    now: () => clock.now(),
    pass: async (ms) => {
      clock.advance(ms);
      // What the alarms set off comes to rest where it waits for the disk.
      await new Promise((resolve) => setImmediate(resolve));
    },
    follow: (wanted) => {
      const isFirst = followers === undefined;
      followers = { changes: async () => {}, due: async () => {}, ...wanted };
      const mine = crash;
      if (!isFirst) return;
      // Whoever was killed tells nobody anything any more.
      const told = (tell: () => Promise<void> | undefined) =>
        mine === crash ? Promise.race([mine.promise, tell()]) : Promise.resolve();
      engine.start({
        changes: (changes) => told(() => followers?.changes(changes)),
        due: (record) => told(() => followers?.due(record)),
      });
    },
    crash: async () => {
      // What a process that is killed leaves behind: its files as they are at this moment.
      cpSync(join(root, String(engines.length - 1)), join(root, String(engines.length)), { recursive: true });
      crash.resolve();
      crash = Promise.withResolvers();
      followers = undefined;
      engine = start();
    },
  };
};

engineContract('the embedded engine', open);
