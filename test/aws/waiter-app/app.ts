import { join } from 'node:path';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { withBundles } from '../../../cdk/bundle.ts';
import { createParleyApp } from '../../../cdk/parley-app.ts';
import config from './parley.config.ts';

await withBundles(
  (bundles) =>
    createParleyApp({
      config,
      code: (name) => Code.fromAsset(join(bundles, name)),
      // The runner has no Docker: it runs the bundle of the image.
      waiterImage: () => ContainerImage.fromRegistry('parley-waiter'),
    }).app.synth(),
  join(import.meta.dirname, 'parley.config.ts'),
);
