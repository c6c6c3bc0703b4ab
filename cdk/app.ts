import { join } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import config from '../parley.config.ts';
import { withBundles } from './bundle.ts';
import { checkRules, parleyApp } from './parley-app.ts';

await withBundles((bundles) => {
  const { app } = parleyApp({ config, code: (name) => Code.fromAsset(join(bundles, name)) });
  checkRules(app);
  app.synth();
});
