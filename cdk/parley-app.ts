import { App, Validations } from 'aws-cdk-lib';
import type { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { CURRENTLY_RECOMMENDED_FLAGS } from 'aws-cdk-lib/cx-api';
import { AwsSolutionsChecks } from 'cdk-nag';
import { type Config, ConfigError } from '../shared/config/config.ts';
import { DEPLOY_TARGETS, type DeployTarget, ParleyStack, type ParleyStackProps } from './parley-stack.ts';

/** Here instead of `cdk.json`, so that tests synthesize the same template. Some flags change names, so that they cannot follow later. */
const CONTEXT = {
  ...CURRENTLY_RECOMMENDED_FLAGS,
  '@aws-cdk/aws-iam:minimizePolicies': true,
  '@aws-cdk/core:enablePartitionLiterals': true,
};

export interface ParleyAppProps {
  config: Config;
  code: ParleyStackProps['code'];
  target?: DeployTarget;
  relayImage?: () => ContainerImage;
  relay?: string;
  waiterImage?: () => ContainerImage;
}

export const createParleyApp = ({
  config,
  code,
  target = 'aws',
  relayImage,
  relay,
  waiterImage,
}: ParleyAppProps): { app: App; stack: ParleyStack } => {
  if (config.aws === undefined) {
    throw new ConfigError(
      "parley.config.ts is not valid:\n  aws: is missing; a deployment needs at least aws: { stage: 'dev' }",
    );
  }
  const app = new App({ context: { target, relay, ...CONTEXT }, analyticsReporting: false });
  const stack = new ParleyStack(app, 'Parley', {
    config,
    aws: config.aws,
    target: getTarget(app),
    code,
    relayImage: isRelayOnFargate(app) ? relayImage : undefined,
    waiterImage,
  });
  return { app, stack };
};

export const addSecurityChecks = (app: App): void => Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

const getTarget = (app: App): DeployTarget => {
  const asked: unknown = app.node.tryGetContext('target');
  const target = DEPLOY_TARGETS.find((known) => known === asked);
  if (target === undefined) throw new Error(`-c target=${asked}: there are only ${DEPLOY_TARGETS.join(' and ')}`);
  return target;
};

const isRelayOnFargate = (app: App): boolean => {
  const asked: unknown = app.node.tryGetContext('relay');
  if (asked !== undefined && asked !== 'fargate') throw new Error(`-c relay=${asked}: there is only fargate`);
  if (asked === 'fargate' && getTarget(app) !== 'aws') throw new Error('-c relay=fargate: LocalStack has no Fargate');
  return asked === 'fargate';
};
