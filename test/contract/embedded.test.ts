import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedEngine, openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import { TestClock } from '../support/test-clock.ts';
import { engineContract } from './engine-contract.ts';
import { type Open, WATCHED } from './engine-under-test.ts';
import { LISTED, toListed } from './lists-contract.ts';

const open: Open = async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'parley-contract-'));
  const clock = new TestClock();
  const engines: EmbeddedEngine[] = [];
  const start = (): EmbeddedEngine => {
    const engine = openEmbeddedEngine({
      dir: join(root, String(engines.length)),
      clock,
      log: () => {},
      newId: randomUUID,
      kinds: [WATCHED],
      lists: { [LISTED]: toListed },
      eventRetentionMs: 30 * 86_400_000,
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
      followers = { onChanges: async () => {}, onTimer: async () => {}, ...wanted };
      const mine = crash;
      if (!isFirst) return;
      // Whoever was killed tells nobody anything any more.
      const told = (tell: () => Promise<void> | undefined) =>
        mine === crash ? Promise.race([mine.promise, tell()]) : Promise.resolve();
      engine.start({
        onChanges: (changes) => told(() => followers?.onChanges(changes)),
        onTimer: (record) => told(() => followers?.onTimer(record)),
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
