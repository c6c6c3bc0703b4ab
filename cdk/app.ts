import { join } from 'node:path';
import { IgnoreMode } from 'aws-cdk-lib';
import { Platform } from 'aws-cdk-lib/aws-ecr-assets';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { Code } from 'aws-cdk-lib/aws-lambda';
import config from '../parley.config.ts';
import { withBundles } from './bundle.ts';
import { addSecurityChecks, createParleyApp } from './parley-app.ts';

const createImage = (folder: string) => () =>
  ContainerImage.fromAsset(join(import.meta.dirname, '..'), {
    file: `${folder}/Dockerfile`,
    platform: Platform.LINUX_ARM64,
    ignoreMode: IgnoreMode.DOCKER,
  });

await withBundles((bundles) => {
  const { app } = createParleyApp({
    config,
    code: (name) => Code.fromAsset(join(bundles, name)),
    relayImage: createImage('relay'),
    waiterImage: createImage('waiter'),
  });
  addSecurityChecks(app);
  app.synth();
});
