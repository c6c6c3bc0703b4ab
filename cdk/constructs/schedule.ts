import { Duration } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { ParleyFunction } from './parley-function.ts';

export interface ScheduleProps {
  description: string;
  every: Duration;
  enabled: boolean;
}

/** Neither the rule nor Lambda itself, which takes the event and tries it by its own settings, comes back with a run that failed. */
const NO_RETRY = { retryAttempts: 0, maxEventAge: Duration.minutes(1) };

/**
 * A rule and not EventBridge Scheduler: it costs nothing, needs no role, and LocalStack really runs it. A run that could not be
 * started is not worth starting late, because the next one does its work.
 */
export const addSchedule = (runs: ParleyFunction, { description, every, enabled }: ScheduleProps): void => {
  runs.lambda.configureAsyncInvoke(NO_RETRY);
  new Rule(runs, 'Every', {
    description,
    schedule: Schedule.rate(every),
    enabled,
    targets: [new LambdaFunction(runs.lambda, { ...NO_RETRY, event: RuleTargetInput.fromObject({}) })],
  });
};
