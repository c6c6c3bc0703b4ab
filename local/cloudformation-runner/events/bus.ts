import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AwsResponse } from '../gateway/aws-call.ts';
import { buildJsonResponse } from '../gateway/errors.ts';
import { buildBusArn } from '../gateway/other-calls.ts';
import type { Resource, ResourceGraph } from '../graph.ts';
import { Archive, EventBus, EventRuleType } from '../resources/messaging.ts';
import { compilePattern, type Matches, PatternError } from './event-pattern.ts';

type RuleResource = Resource<z.output<typeof EventRuleType.properties>>;
export type RuleTarget = RuleResource['properties']['Targets'][number];

export interface PatternRule {
  logicalId: string;
  arn: string;
  busArn: string;
  matches: Matches;
  targets: RuleTarget[];
}

export const parseRules = (plan: ResourceGraph): PatternRule[] => {
  const compileRule = (logicalId: string, pattern: unknown): Matches => {
    try {
      return compilePattern(pattern);
    } catch (error) {
      plan.mistakes.add(logicalId, error instanceof PatternError ? error.message : `EventPattern: ${String(error)}`);
      return () => false;
    }
  };
  for (const { logicalId, properties } of plan.listResources(Archive)) {
    if (properties.EventPattern) compileRule(logicalId, properties.EventPattern);
  }
  return plan.listResources(EventRuleType).flatMap(({ logicalId, attributes, properties }) => {
    const { EventPattern, EventBusName, State, Targets } = properties;
    if (!EventPattern || State === 'DISABLED') return [];
    return [
      {
        logicalId,
        arn: attributes.Arn ?? '',
        busArn: buildBusArn(EventBusName, plan.site),
        matches: compileRule(logicalId, EventPattern),
        targets: Targets,
      },
    ];
  });
};

const Entry = z.object({
  Source: z.string().min(1),
  DetailType: z.string().min(1),
  Detail: z.string(),
  EventBusName: z.string().default('default'),
  Resources: z.array(z.string()).default([]),
  Time: z.number().optional(),
  TraceHeader: z.string().optional(),
});
const PutEvents = z.object({ Entries: z.array(z.unknown()).min(1).max(10) });

export interface BusEvent {
  id: string;
  detail: unknown;
  [field: string]: unknown;
}

type Deliver = (rule: PatternRule, target: RuleTarget, event: BusEvent) => void;

export const createBus = (plan: ResourceGraph, rules: readonly PatternRule[], deliver: Deliver) => {
  const buses = new Set([
    buildBusArn('default', plan.site),
    ...plan.listResources(EventBus).map(({ attributes }) => attributes.Arn),
  ]);
  const match = (busArn: string, event: BusEvent): void => {
    for (const rule of rules) {
      if (rule.busArn === busArn && rule.matches(event))
        for (const target of rule.targets) deliver(rule, target, event);
    }
  };
  const put = (raw: unknown): { EventId: string } | { ErrorCode: string; ErrorMessage: string } => {
    const entry = Entry.safeParse(raw);
    if (!entry.success)
      return { ErrorCode: 'InvalidArgument', ErrorMessage: 'Source, DetailType and Detail are required' };
    const bus = buildBusArn(entry.data.EventBusName, plan.site);
    if (!buses.has(bus)) return { ErrorCode: 'ResourceNotFoundException', ErrorMessage: `There is no ${bus}` };
    const detail = parseJsonObject(entry.data.Detail);
    if (!detail) return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
    const event = toBusEvent(entry.data, detail, plan);
    match(bus, event);
    return { EventId: event.id };
  };
  return {
    /** What a rule sends on to this bus. */
    forward: match,
    putEvents: (body: unknown): AwsResponse => {
      const entries = PutEvents.parse(body).Entries.map(put);
      return buildJsonResponse({
        FailedEntryCount: entries.filter((entry) => 'ErrorCode' in entry).length,
        Entries: entries,
      });
    },
  };
};

const parseJsonObject = (text: string): object | undefined => {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
};

const toBusEvent = (entry: z.output<typeof Entry>, detail: object, { site }: ResourceGraph): BusEvent => ({
  version: '0',
  id: randomUUID(),
  'detail-type': entry.DetailType,
  source: entry.Source,
  account: site.account,
  time: new Date(entry.Time === undefined ? Date.now() : entry.Time * 1000).toISOString().replace(/\.\d+Z$/, 'Z'),
  region: site.region,
  resources: entry.Resources,
  detail,
});
