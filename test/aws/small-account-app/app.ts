import { join } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { withBundles } from '../../../cdk/bundle.ts';
import { createParleyApp } from '../../../cdk/parley-app.ts';
import config from './parley.config.ts';

/** The stack as it is deployed, for the configuration beside this file. */
await withBundles(
  (bundles) => createParleyApp({ config, code: (name) => Code.fromAsset(join(bundles, name)) }).app.synth(),
  join(import.meta.dirname, 'parley.config.ts'),
);
