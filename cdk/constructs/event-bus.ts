import { Aws, Duration } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface BusProps {
  stage: string;
  keepMs: number;
  /** LocalStack's free tier has no archives. */
  archive: boolean;
}

export const createEventBus = (scope: Construct, { stage, keepMs: retentionMs, archive }: BusProps): EventBus => {
  const bus = new EventBus(scope, 'Bus', { eventBusName: `parley-${stage}` });
  if (archive) {
    bus.archive('Archive', {
      eventPattern: { account: [Aws.ACCOUNT_ID] },
      retention: Duration.days(Math.ceil(retentionMs / DAY_MS)),
    });
  }
  return bus;
};
