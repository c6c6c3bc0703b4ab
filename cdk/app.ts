import { join } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import config from '../parley.config.ts';
import { BUNDLES, bundle } from './bundle.ts';
import { checkRules, parleyApp } from './parley-app.ts';

await bundle();
const { app } = parleyApp({ config, code: (name) => Code.fromAsset(join(BUNDLES, name)) });
checkRules(app);
app.synth();
