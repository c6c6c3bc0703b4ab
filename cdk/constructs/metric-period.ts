import { Duration } from 'aws-cdk-lib';

/** Over which alarms and dashboard count. */
export const METRIC_PERIOD = Duration.minutes(5);
