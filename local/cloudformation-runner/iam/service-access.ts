import type { ResourceGraph } from '../graph.ts';
import { Permission } from '../resources/compute.ts';
import { QueuePolicy } from '../resources/permissions.ts';
import { matchesGlob } from './glob.ts';
import { appliesToService, isConditionMet, OVER_TLS } from './policy-document.ts';

export const parseFunctionName = (arnOrName: string): string =>
  arnOrName.startsWith('arn:') ? (arnOrName.split(':')[6] ?? '') : arnOrName;

export const canInvoke = (plan: ResourceGraph, functionName: string, service: string, sourceArn: string): boolean =>
  plan
    .listResources(Permission)
    .some(
      ({ properties: { Action, FunctionName, Principal, SourceArn, SourceAccount } }) =>
        Action === 'lambda:InvokeFunction' &&
        parseFunctionName(FunctionName) === functionName &&
        Principal === service &&
        (SourceAccount === undefined || SourceAccount === plan.site.account) &&
        (SourceArn === undefined || matchesGlob(SourceArn, sourceArn)),
    );

export const hasOpenUrl = (plan: ResourceGraph, functionName: string): boolean =>
  plan
    .listResources(Permission)
    .some(
      ({ properties: { Action, FunctionName, Principal } }) =>
        Action === 'lambda:InvokeFunctionUrl' && parseFunctionName(FunctionName) === functionName && Principal === '*',
    );

export const canSendToQueue = (
  plan: ResourceGraph,
  queueUrl: string,
  queueArn: string,
  service: string,
  sourceArn: string,
) => {
  const context = { ...OVER_TLS, 'aws:SourceArn': sourceArn, 'aws:SourceAccount': plan.site.account };
  const statements = plan
    .listResources(QueuePolicy)
    .filter(({ properties }) => properties.Queues.includes(queueUrl))
    .flatMap(({ properties }) => properties.PolicyDocument.Statement)
    .filter(
      (statement) =>
        appliesToService(statement, service) &&
        statement.Action.some((action) => matchesGlob(action.toLowerCase(), 'sqs:sendmessage')) &&
        statement.Resource.some((resource) => matchesGlob(resource, queueArn)) &&
        isConditionMet(statement.Condition, context),
    );
  return statements.some(({ Effect }) => Effect === 'Allow') && !statements.some(({ Effect }) => Effect === 'Deny');
};
