import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { after, it } from 'node:test';
import { isLong } from '../../../test/support/scale.ts';
import { startServer, tempDir } from '../../../test/support/server-process.ts';

const OWNER = { after };
const MAIN = resolve(import.meta.dirname, '../../../local/main.ts');

/** The Python of the path; at full length, every one that the SDK supports and this machine has. */
const PYTHONS = isLong
  ? [10, 11, 12, 13, 14]
      .map((minor) => `python3.${minor}`)
      .filter((name) => spawnSync(name, ['--version']).status === 0)
  : ['python3'];

for (const python of PYTHONS)
  it(`the Python SDK passes its own tests against a server, with ${python}`, { timeout: 110_000 }, async () => {
    const { address, adminKey } = await startServer(OWNER, { dir: tempDir(OWNER) });
    const child = spawn(python, ['-W', 'ignore::ResourceWarning', '-m', 'unittest', 'discover', '-v'], {
      cwd: import.meta.dirname,
      env: {
        ...process.env,
        PARLEY_URL: address,
        PARLEY_ADMIN_KEY: adminKey,
        PARLEY_SERVER: JSON.stringify([process.execPath, MAIN]),
        PYTHONDONTWRITEBYTECODE: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    // Without an installed Python this is the error `spawn python3 ENOENT`.
    const [code] = await once(child, 'exit');
    assert.equal(code, 0, said);
    assert.match(said, /^Ran [1-9]\d* tests/m);
  });
