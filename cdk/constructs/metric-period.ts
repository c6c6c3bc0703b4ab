import { Duration } from 'aws-cdk-lib';

export const METRIC_PERIOD = Duration.minutes(5);
