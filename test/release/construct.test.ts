import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };
import { packConstruct } from '../../release/pack-construct.ts';
import { isLong } from '../support/scale.ts';
import { tempDir } from '../support/server-process.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const home = tempDir({ after });
const app = join(home, 'app');

const PROGRAM = `
import { App, Stack } from 'aws-cdk-lib';
import { Parley } from 'parley-cdk';

const app = new App({ outdir: 'cdk.out', analyticsReporting: false });
const stack = new Stack(app, 'Agents');
const parley = new Parley(stack, 'Parley', {
  domains: { security: { description: 'briefings' } },
  stage: 'mine',
  tasks: { leaseMs: 77_000 },
  aws: { removal: 'destroy', subscriptions: { finished: { queue: 'finished' } } },
});
if (!parley.url || !parley.table.tableName || !parley.adminKeyFunction.functionName) throw new Error('parts are missing');
parley.getBus();
app.synth();
try {
  new Parley(new Stack(app, 'Wrong'), 'Parley', { domains: {}, tasks: { leaseMs: -1 } });
} catch (error) {
  console.log(error.message);
}
`;

const Template = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
  ),
});

describe('the construct', { skip: !isLong }, () => {
  it('is made in an empty app from the package alone, with the settings of the app in its functions', async () => {
    const tarball = await packConstruct(ROOT, join(home, 'packages'), manifest.version);
    mkdirSync(join(app, 'node_modules', 'parley-cdk'), { recursive: true });
    // An app has these beside it.
    for (const name of ['aws-cdk-lib', 'constructs'])
      symlinkSync(join(ROOT, 'node_modules', name), join(app, 'node_modules', name));
    await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', join(app, 'node_modules', 'parley-cdk')]);
    writeFileSync(join(app, 'app.mjs'), PROGRAM);
    // An empty path: nothing is bundled, and no Docker asked.
    const { stdout } = await run(process.execPath, ['app.mjs'], { cwd: app, env: { PATH: '' } });
    assert.match(stdout, /tasks\.leaseMs: /);
    const out = join(app, 'cdk.out');
    const { Resources } = Template.parse(JSON.parse(readFileSync(join(out, 'Agents.template.json'), 'utf8')));
    const named = (type: string, name: string): unknown[] =>
      Object.values(Resources).flatMap((one) => (one.Type === type ? one.Properties[name] : []));
    assert.ok(named('AWS::Lambda::Function', 'FunctionName').includes('parley-mine-ingest'));
    assert.ok(named('AWS::SQS::Queue', 'QueueName').includes('parley-mine-default-security-critical.fifo'));
    assert.ok(named('AWS::SQS::Queue', 'QueueName').includes('parley-mine-to-finished'));
    const assets = readdirSync(out).filter((name) => name.startsWith('asset.'));
    const configs = assets.map((name) => readFileSync(join(out, name, 'parley-config.mjs'), 'utf8'));
    assert.ok(configs.length > 0);
    for (const config of configs) assert.match(config, /"leaseMs":77000/);
  });
});
