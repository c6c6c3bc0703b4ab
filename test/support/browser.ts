import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as driver } from 'playwright-core';
import { atEndOf, type Owner } from './server-process.ts';

/** What the browser needs of a machine, for one that lacks it. */
const PACKED_LIBRARIES = join(import.meta.dirname, '../../node_modules/@sparticuz/chromium/bin/al2023.tar.br');
const LIBRARIES = join(tmpdir(), 'parley-browser-libraries');
/** Those of the system fit it better. */
const SYSTEM = ['/usr/lib/x86_64-linux-gnu', '/usr/lib64', '/usr/lib'];

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

const unpackLibraries = (): void => {
  if (existsSync(LIBRARIES)) return;
  const folder = mkdtempSync(`${LIBRARIES}-`);
  execFileSync('tar', ['-x', '-C', folder], { input: brotliDecompressSync(readFileSync(PACKED_LIBRARIES)) });
  try {
    renameSync(folder, LIBRARIES);
  } catch {
    // Another test was faster.
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The browser that `npm ci` installs, or the one that `PARLEY_BROWSER` names. */
export const startBrowser = async (owner: Owner): Promise<Browser> => {
  unpackLibraries();
  const executablePath = process.env.PARLEY_BROWSER ?? (await chromium.executablePath());
  const libraries = [...SYSTEM, join(LIBRARIES, 'lib')].join(':');
  const browser = await driver.launch({
    executablePath,
    args: ARGS,
    env: { ...process.env, LD_LIBRARY_PATH: libraries } as Record<string, string>,
  });
  atEndOf(owner, () => browser.close());
  return browser;
};
