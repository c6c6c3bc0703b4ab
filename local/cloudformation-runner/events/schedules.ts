import type { ResourceGraph } from '../graph.ts';
import { EventRuleType, Schedule } from '../resources/messaging.ts';
import { compileSchedule, type IsDue, ScheduleError } from './schedule-expression.ts';

export interface Scheduled {
  isDue: IsDue;
  fire(minute: number): void;
}

const MINUTE_MS = 60_000;

export const runSchedules = (all: readonly Scheduled[], minuteMs = MINUTE_MS): { stop(): void } => {
  let timer: NodeJS.Timeout | undefined;
  const begun = Date.now();
  const offset = Math.floor(begun / MINUTE_MS) - Math.floor(begun / minuteMs);
  const tick = (): void => {
    const minute = Math.floor(Date.now() / minuteMs) + offset;
    for (const { isDue, fire } of all) if (isDue(minute)) fire(minute);
    sleep();
  };
  const sleep = (): void => {
    timer = setTimeout(tick, minuteMs - (Date.now() % minuteMs));
  };
  if (all.length > 0) sleep();
  return { stop: () => clearTimeout(timer) };
};

export interface PlannedSchedule {
  logicalId: string;
  isDue: IsDue;
  targetArn: string;
  source:
    | { service: 'scheduler.amazonaws.com'; roleArn: string }
    | { service: 'events.amazonaws.com'; ruleArn: string };
  input: string | undefined;
}

export const parseSchedules = (plan: ResourceGraph): PlannedSchedule[] => {
  const compileScheduleRule = (logicalId: string, expression: string): IsDue => {
    try {
      return compileSchedule(expression);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      plan.mistakes.add(logicalId, error.message);
      return () => false;
    }
  };
  const ofScheduler = plan
    .listResources(Schedule)
    .map(({ logicalId, properties: { State, ScheduleExpression, Target } }) => ({
      logicalId,
      isDue: State === 'ENABLED' ? compileScheduleRule(logicalId, ScheduleExpression) : () => false,
      targetArn: Target.Arn,
      source: { service: 'scheduler.amazonaws.com', roleArn: Target.RoleArn } as const,
      input: Target.Input,
    }));
  const ofRules = plan.listResources(EventRuleType).flatMap(({ logicalId, attributes, properties }) => {
    const { ScheduleExpression, State, Targets } = properties;
    if (ScheduleExpression === undefined) return [];
    const isDue = State === 'ENABLED' ? compileScheduleRule(logicalId, ScheduleExpression) : () => false;
    const source = { service: 'events.amazonaws.com', ruleArn: attributes.Arn ?? '' } as const;
    return Targets.map(({ Arn, Input }) => ({ logicalId, isDue, targetArn: Arn, source, input: Input }));
  });
  return [...ofScheduler, ...ofRules];
};
