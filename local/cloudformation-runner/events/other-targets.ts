import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ResourceGraph } from '../graph.ts';
import { EventBus } from '../resources/messaging.ts';
import type { BusEvent } from './bus.ts';

const LOG_GROUP = /^arn:[^:]+:logs:[^:]*:[^:]*:log-group:(\/aws\/events\/[^:]+)/;
const BUS = /^arn:[^:]+:events:[^:]*:[^:]*:event-bus\//;

export const isBus = (arn: string): boolean => BUS.test(arn);

/** A function or a bus of another account is not here, so that events for it are lost. */
const isElsewhere = ({ site }: ResourceGraph, arn: string): boolean => arn.split(':')[4] !== site.account;

export const isKnownTarget = (plan: ResourceGraph, arn: string): boolean =>
  LOG_GROUP.test(arn) ||
  isElsewhere(plan, arn) ||
  plan.listResources(EventBus).some(({ attributes }) => attributes.Arn === arn);

/** Tells whether the target was one of these. */
export const createOtherTargets =
  (folder: string, forward: (busArn: string, event: BusEvent) => void) =>
  (arn: string, event: BusEvent): boolean => {
    const group = LOG_GROUP.exec(arn)?.[1];
    if (group !== undefined) {
      const file = join(folder, `${group}.log`);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      appendFileSync(file, `${JSON.stringify(event)}\n`, { mode: 0o600 });
    } else if (isBus(arn)) forward(arn, event);
    else return false;
    return true;
  };
