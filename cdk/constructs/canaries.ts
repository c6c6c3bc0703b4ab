import { Validations } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { FunctionName } from '../function-specs.ts';
import type { ParleyFunction } from './parley-function.ts';

const POLICY = 'service-role/AWSCodeDeployRoleForLambdaLimited';

/** For five minutes a tenth of the calls meets the new code; an alarm brings the old code back. */
export const addCanaries = (
  scope: Construct,
  functions: Record<FunctionName, ParleyFunction>,
  alarms: Alarm[],
): void => {
  const canaries = new Construct(scope, 'Canaries');
  const application = new LambdaApplication(canaries, 'Application');
  const role = new Role(canaries, 'Role', {
    assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(POLICY)],
  });
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${POLICY}]`,
    reason: 'It is the role that CodeDeploy asks for, in its smaller form.',
  });
  for (const [name, { alias }] of Object.entries(functions)) {
    if (!alias) continue;
    new LambdaDeploymentGroup(canaries, name, {
      application,
      role,
      alias,
      alarms,
      deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
    });
  }
};
