import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** What became of a file: what was synced of it, all that was written, or some of what was written since the sync. */
const FATES = ['synced', 'written', 'torn'] as const;

/** A sync of SQLite's log off the main thread takes as long as so many others. */
const SLOW = 30;

/** Watches the syncs of files in one folder, and tells what a power failure would leave of them. What is there already is on the disk. */
export class FailingPower {
  /** Called when a sync begins, with nothing of it done yet. */
  beforeSync: () => void = () => {};
  readonly #dir: string;
  readonly #names = new Map<number, string>();
  readonly #synced = new Map<string, Buffer>();
  #slow: { until: number; end: () => void }[] = [];
  #syncs = 0;
  #failures = 0;

  constructor(t: TestContext, dir: string) {
    this.#dir = dir;
    for (const name of fs.readdirSync(dir)) this.#synced.set(join(dir, name), fs.readFileSync(join(dir, name)));
    const { openSync, fdatasync, fdatasyncSync } = fs;
    t.mock.method(fs, 'openSync', (...args: Parameters<typeof openSync>) => {
      const descriptor = openSync(...args);
      this.#names.set(descriptor, String(args[0]));
      return descriptor;
    });
    t.mock.method(fs, 'fdatasyncSync', (descriptor: number) => {
      const done = this.#sync(descriptor);
      fdatasyncSync(descriptor);
      done();
    });
    t.mock.method(fs, 'fdatasync', (descriptor: number, callback: fs.NoParamCallback) => {
      const done = this.#sync(descriptor);
      fdatasync(descriptor, (error) => {
        const end = (): void => {
          done();
          callback(error);
        };
        if (this.#names.get(descriptor)?.endsWith('-wal')) this.#slow.push({ until: this.#syncs + SLOW, end });
        else end();
      });
    });
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
  }

  /** Each failure is unlike the ones before it. */
  failInto(left: string): void {
    this.#failures += 1;
    let choice = this.#failures;
    for (const name of fs.readdirSync(this.#dir)) {
      const written = fs.readFileSync(join(this.#dir, name));
      // SQLite syncs the file itself when it writes to it, which it does not here.
      const synced = name.endsWith('.db') ? written : (this.#synced.get(join(this.#dir, name)) ?? Buffer.alloc(0));
      const fate = FATES[choice % FATES.length];
      choice = Math.floor(choice / FATES.length);
      fs.writeFileSync(
        join(left, name),
        fate === 'written' ? written : fate === 'synced' ? synced : torn(synced, written),
      );
    }
  }

  /** Ends the syncs that take long. */
  release(): void {
    for (const { end } of this.#slow.splice(0)) end();
  }

  #sync(descriptor: number): () => void {
    const name = this.#names.get(descriptor) ?? '';
    if (!name.startsWith(this.#dir)) return () => {};
    this.#syncs += 1;
    const over = this.#slow.filter(({ until }) => until <= this.#syncs);
    this.#slow = this.#slow.filter((slow) => !over.includes(slow));
    for (const { end } of over) end();
    this.beforeSync();
    const content = fs.readFileSync(name);
    return () => void this.#synced.set(name, content);
  }
}

/** The file as it was written up to the middle of what is new in it, and as it was synced from there on. */
const torn = (synced: Buffer, written: Buffer): Buffer => {
  const first = written.findIndex((byte, at) => byte !== synced[at]);
  const last = written.findLastIndex((byte, at) => byte !== synced[at]);
  const middle = Math.floor((first + last + 1) / 2);
  return Buffer.concat([written.subarray(0, middle), synced.subarray(middle)]);
};
