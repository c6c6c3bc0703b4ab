import { Duration } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { ParleyFunction } from './parley-function.ts';

export interface ScheduleProps {
  description: string;
  every: Duration;
  enabled: boolean;
}

/** Both EventBridge and Lambda's asynchronous invocation retry by default. The next run does the work instead. */
const NO_RETRY = { retryAttempts: 0, maxEventAge: Duration.minutes(1) };

/** A rule, not EventBridge Scheduler: it is free, needs no role, and LocalStack executes it. */
export const addSchedule = (runs: ParleyFunction, { description, every, enabled }: ScheduleProps): void => {
  runs.lambda.configureAsyncInvoke(NO_RETRY);
  new Rule(runs, 'Every', {
    description,
    schedule: Schedule.rate(every),
    enabled,
    // LocalStack calls no target with an empty object.
    targets: [new LambdaFunction(runs.lambda, { ...NO_RETRY, event: RuleTargetInput.fromObject({ scheduled: true }) })],
  });
};
