import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

/** A disk that can be filled: no file grows while it is full. */
export class FillableDisk {
  isFull = false;

  constructor(t: TestContext) {
    const { fstatSync, writeSync } = fs;
    const write = (descriptor: number, block: Buffer, offset: number, length: number, at: number): number => {
      if (this.isFull && at + length > fstatSync(descriptor).size) throw diskError('ENOSPC');
      return writeSync(descriptor, block, offset, length, at);
    };
    t.mock.method(fs, 'writeSync', write);
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
  }
}

export const diskError = (code: string): Error => Object.assign(new Error(`${code}: the disk says so`), { code });
