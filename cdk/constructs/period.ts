import { Duration } from 'aws-cdk-lib';

/** Over which alarms and dashboard count. */
export const PERIOD = Duration.minutes(5);
