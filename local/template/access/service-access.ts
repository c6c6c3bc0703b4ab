import { Permission } from '../kinds/compute.ts';
import { QueuePolicy } from '../kinds/permissions.ts';
import type { Plan } from '../plan.ts';
import { fits } from './glob.ts';
import { appliesToService, conditionHolds, OVER_TLS } from './policy-document.ts';

/** The function's name from its ARN, its ARN with a qualifier, or its name. */
export const functionNameOf = (arnOrName: string): string =>
  arnOrName.startsWith('arn:') ? (arnOrName.split(':')[6] ?? '') : arnOrName;

/** Whether a Lambda permission of the template lets the service invoke the function on behalf of the source. */
export const mayInvoke = (plan: Plan, functionName: string, service: string, sourceArn: string): boolean =>
  plan
    .all(Permission)
    .some(
      ({ properties: { Action, FunctionName, Principal, SourceArn, SourceAccount } }) =>
        Action === 'lambda:InvokeFunction' &&
        functionNameOf(FunctionName) === functionName &&
        Principal === service &&
        (SourceAccount === undefined || SourceAccount === plan.site.account) &&
        (SourceArn === undefined || fits(SourceArn, sourceArn)),
    );

export const hasOpenUrl = (plan: Plan, functionName: string): boolean =>
  plan
    .all(Permission)
    .some(
      ({ properties: { Action, FunctionName, Principal } }) =>
        Action === 'lambda:InvokeFunctionUrl' && functionNameOf(FunctionName) === functionName && Principal === '*',
    );

/** Whether a policy of the queue lets the service send to it on behalf of the source. */
export const queueTakesFrom = (plan: Plan, queueUrl: string, queueArn: string, service: string, sourceArn: string) => {
  const context = { ...OVER_TLS, 'aws:SourceArn': sourceArn, 'aws:SourceAccount': plan.site.account };
  const statements = plan
    .all(QueuePolicy)
    .filter(({ properties }) => properties.Queues.includes(queueUrl))
    .flatMap(({ properties }) => properties.PolicyDocument.Statement)
    .filter(
      (statement) =>
        appliesToService(statement, service) &&
        statement.Action.some((action) => fits(action.toLowerCase(), 'sqs:sendmessage')) &&
        statement.Resource.some((resource) => fits(resource, queueArn)) &&
        conditionHolds(statement.Condition, context),
    );
  return statements.some(({ Effect }) => Effect === 'Allow') && !statements.some(({ Effect }) => Effect === 'Deny');
};
