import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packSdk } from '../../release/pack-sdk.ts';
import { NEWEST_NODE, nodeFolder, OLDEST_NODE } from '../support/node-version.ts';
import { startServer, tempDir } from '../support/server-process.ts';

const run = promisify(execFile);
const OWNER = { after };
const PROGRAM = 'life-of-an-agent.mjs';

const home = tempDir(OWNER);
const [server] = await Promise.all([
  startServer(OWNER, { dir: tempDir(OWNER) }),
  packSdk(resolve(import.meta.dirname, '../..'), home, '0.0.0'),
]);
mkdirSync(join(home, 'node_modules'));
renameSync(join(home, 'parley-sdk'), join(home, 'node_modules', 'parley-sdk'));
copyFileSync(join(import.meta.dirname, PROGRAM), join(home, PROGRAM));

describe('the package of the SDK', () => {
  for (const [age, version] of Object.entries({ oldest: OLDEST_NODE.sdk, newest: NEWEST_NODE })) {
    it(`lives the whole life of an agent on the ${age} Node.js, ${version}`, async () => {
      const capabilities = ['steps', 'waits'].map((name) => `${name}-${age}`);
      const [requester, helper, worker] = [
        await server.agent(`requester-${age}`, { dialect: 'native' }),
        await server.agent(`helper-${age}`, { dialect: 'native', capabilities: [`double-${age}`] }),
        await server.agent(`worker-${age}`, { dialect: 'native', capabilities }),
      ];
      const env = {
        ...process.env,
        PARLEY_URL: server.address,
        REQUESTER_KEY: requester.key,
        HELPER_KEY: helper.key,
        WORKER_KEY: worker.key,
        AGE: age,
        NODE_OPTIONS: '',
      };
      const { stdout } = await run(join(nodeFolder(version), 'node'), [PROGRAM], { cwd: home, env });
      assert.equal(stdout.trim(), `v${version}`);
    });
  }
});
