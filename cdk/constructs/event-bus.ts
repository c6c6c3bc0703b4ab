import { Aws, Duration } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import { buildBusName } from '../../shared/config/bus-names.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface BusProps {
  stage: string;
  projects: string[];
  keepMs: number;
  /** LocalStack's free tier has no archives. */
  archive: boolean;
}

export interface ProjectBus {
  project: string;
  bus: EventBus;
}

export const createEventBuses = (
  scope: Construct,
  { stage, projects, keepMs: retentionMs, archive }: BusProps,
): ProjectBus[] =>
  projects.map((project) => {
    const bus = new EventBus(scope, `Bus-${project}`, { eventBusName: buildBusName(stage, project) });
    if (archive) {
      bus.archive(`Archive-${project}`, {
        eventPattern: { account: [Aws.ACCOUNT_ID] },
        retention: Duration.days(Math.ceil(retentionMs / DAY_MS)),
      });
    }
    return { project, bus };
  });
