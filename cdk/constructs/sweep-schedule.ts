import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { ParleyFunction } from './parley-function.ts';

/**
 * Every minute. A rule and not EventBridge Scheduler: it costs nothing, needs no role, and LocalStack really runs it. A sweep
 * that could not be started is not worth starting late, because the next one does its work.
 */
export const sweepSchedule = (sweep: ParleyFunction, enabled: boolean): Rule =>
  new Rule(sweep, 'Every', {
    description: 'Looks for what is due within the next minutes',
    schedule: Schedule.rate(Duration.minutes(1)),
    enabled,
    targets: [new LambdaFunction(sweep.lambda, { retryAttempts: 0, maxEventAge: Duration.minutes(1) })],
  });
