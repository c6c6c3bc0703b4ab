import type { ResourceGraph } from '../graph.ts';
import type { RoleAccess } from '../iam/role-access.ts';
import { canAssume } from '../iam/roles.ts';
import { canInvoke, canSendToQueue, parseFunctionName } from '../iam/service-access.ts';
import type { PlannedFunction } from '../lambda/functions.ts';
import { invokeAsync } from '../lambda/invoke-async.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import { EventInvokeConfig } from '../resources/compute.ts';
import { Queue } from '../resources/messaging.ts';
import type { BusEvent, PatternRule, RuleTarget } from './bus.ts';
import { createOtherTargets, isBus, isKnownTarget } from './other-targets.ts';
import type { PlannedSchedule } from './schedules.ts';

export const checkTargets = (
  plan: ResourceGraph,
  functions: readonly PlannedFunction[],
  roles: ReadonlyMap<string, RoleAccess>,
  rules: readonly PatternRule[],
  schedules: readonly PlannedSchedule[],
): void => {
  const check = (logicalId: string, targetArn: string, ruleArn: string): void => {
    const target = functions.find(({ arn }) => arn === targetArn);
    const queue = plan.listResources(Queue).find(({ attributes }) => attributes.Arn === targetArn);
    if (target && !canInvoke(plan, target.name, 'events.amazonaws.com', ruleArn)) {
      plan.mistakes.add(logicalId, `no permission lets EventBridge invoke ${target.name}`);
    }
    if (queue && !canSendToQueue(plan, queue.ref, targetArn, 'events.amazonaws.com', ruleArn)) {
      plan.mistakes.add(logicalId, `no policy lets EventBridge send to ${queue.name}`);
    }
    if (!target && !queue && !isKnownTarget(plan, targetArn))
      plan.mistakes.add(logicalId, `the target ${targetArn} is no function, queue, log group or bus here`);
  };
  for (const { logicalId, arn, targets } of rules)
    for (const target of targets) {
      check(logicalId, target.Arn, arn);
      if (isBus(target.Arn) && !mayPutEvents(target, plan, roles))
        plan.mistakes.add(logicalId, `no role lets EventBridge put events on ${target.Arn}`);
    }
  for (const { logicalId, targetArn, source } of schedules) {
    if (source.service === 'events.amazonaws.com') check(logicalId, targetArn, source.ruleArn);
    else if (!functions.some(({ arn }) => arn === targetArn)) {
      plan.mistakes.add(logicalId, `the target ${targetArn} is no function here`);
    } else if (
      !canAssume(plan, source.roleArn, source.service) ||
      !roles.get(source.roleArn)?.isAllowed('lambda:InvokeFunction', targetArn)
    ) {
      plan.mistakes.add(logicalId, `its role lets the scheduler not invoke ${targetArn}`);
    }
  }
};

const mayPutEvents = (
  { Arn, RoleArn = '' }: RuleTarget,
  plan: ResourceGraph,
  roles: ReadonlyMap<string, RoleAccess>,
): boolean =>
  canAssume(plan, RoleArn, 'events.amazonaws.com') && roles.get(RoleArn)?.isAllowed('events:PutEvents', Arn) === true;

interface TargetResources {
  plan: ResourceGraph;
  functions: ReadonlyMap<string, LambdaFunction>;
  sendMessage(queueUrl: string, body: string, groupId: string | undefined): Promise<unknown>;
  /** A folder. */
  logGroups: string;
  /** Puts an event on another bus. */
  forward(busArn: string, event: BusEvent): void;
  onError(line: string): void;
  signal: AbortSignal;
}

const RETRIES = 2;
const EVENT_AGE_S = 6 * 3600;

/** A target's dead-letter queue is for deleted targets, which do not occur here. */
export const createTargets = ({
  plan,
  functions,
  sendMessage,
  logGroups,
  forward,
  onError,
  signal,
}: TargetResources) => {
  const deliverElsewhere = createOtherTargets(logGroups, forward);
  const configs = plan.listResources(EventInvokeConfig);
  const invoke = (arn: string, payload: unknown): void => {
    const name = parseFunctionName(arn);
    const target = functions.get(name);
    const config = configs.find(({ properties }) => parseFunctionName(properties.FunctionName) === name);
    const { MaximumRetryAttempts: most = RETRIES, MaximumEventAgeInSeconds: seconds = EVENT_AGE_S } =
      config?.properties ?? {};
    if (target) void invokeAsync(target, payload, { most, ageMs: seconds * 1000 }, signal);
  };
  return {
    invoke,
    deliver: (_rule: PatternRule, target: RuleTarget, event: BusEvent): void => {
      const payload = buildTargetInput(target, event);
      const queue = plan.listResources(Queue).find(({ attributes }) => attributes.Arn === target.Arn);
      if (deliverElsewhere(target.Arn, event)) return;
      if (!queue) invoke(target.Arn, payload);
      else {
        sendMessage(queue.ref, JSON.stringify(payload), target.SqsParameters?.MessageGroupId).catch((error) =>
          onError(`an event did not reach ${queue.name}: ${String(error)}`),
        );
      }
    },
  };
};

const buildTargetInput = ({ Input, InputPath }: RuleTarget, event: BusEvent): unknown => {
  if (Input !== undefined) return JSON.parse(Input);
  const path = (InputPath ?? '$').split('.').slice(1);
  return path.reduce<unknown>((value, name) => Object(value)[name], event);
};

export const buildScheduledEvent = ({ site }: ResourceGraph, { source, input }: PlannedSchedule): unknown => {
  if (input !== undefined) return JSON.parse(input);
  if (source.service === 'scheduler.amazonaws.com') return {};
  return {
    version: '0',
    id: crypto.randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: site.account,
    time: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    region: site.region,
    resources: [source.ruleArn],
    detail: {},
  };
};
