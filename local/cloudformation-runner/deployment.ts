import { type PlannedContainer, parseContainers } from './containers/container.ts';
import { type PatternRule, parseRules } from './events/bus.ts';
import { type PlannedSchedule, parseSchedules } from './events/schedules.ts';
import { checkTargets } from './events/targets.ts';
import { buildResourceGraph, type ResourceGraph } from './graph.ts';
import { checkUrls } from './http/function-urls.ts';
import { type PlannedApi, parseHttpApi } from './http/http-api.ts';
import { DONE_BY_LAMBDA } from './iam/managed-policies.ts';
import { loadRoles } from './iam/roles.ts';
import { DEFAULT_CONCURRENCY, splitConcurrency } from './lambda/concurrency-pool.ts';
import { type PlannedFunction, parseFunctions } from './lambda/functions.ts';
import { type PlannedMapping, parseMappings } from './mappings/mappings.ts';
import type { ResourceContext } from './resource-type.ts';

export interface Deployment {
  plan: ResourceGraph;
  functions: PlannedFunction[];
  unreservedConcurrency: number;
  containers: PlannedContainer[];
  api: PlannedApi | undefined;
  rules: PatternRule[];
  schedules: PlannedSchedule[];
  mappings: PlannedMapping[];
}

/** Reports all mistakes in one TemplateError. */
export const buildDeployment = (
  template: unknown,
  site: ResourceContext,
  assets: string,
  accountConcurrency = DEFAULT_CONCURRENCY,
): Deployment => {
  const plan = buildResourceGraph(template, site);
  const roles = loadRoles(plan);
  const functions = parseFunctions(plan, roles, assets);
  const unreservedConcurrency = checkConcurrency(plan, functions, accountConcurrency);
  const containers = parseContainers(plan, roles);
  const rules = parseRules(plan);
  const schedules = parseSchedules(plan);
  const mappings = parseMappings(plan, functions);
  const api = parseHttpApi(plan);
  checkUrls(plan);
  checkTargets(plan, functions, roles, rules, schedules);
  plan.mistakes.throwIfAny();
  for (const { access } of functions) access.recordUse(DONE_BY_LAMBDA);
  return { plan, functions, containers, unreservedConcurrency, api, rules, schedules, mappings };
};

const checkConcurrency = (plan: ResourceGraph, functions: readonly PlannedFunction[], account: number): number => {
  const reserving = functions.filter(({ properties }) => properties.ReservedConcurrentExecutions !== undefined);
  const reserved = reserving.map(({ properties }) => properties.ReservedConcurrentExecutions ?? 0);
  const left = splitConcurrency(account, reserved);
  if (typeof left === 'number') return left;
  plan.mistakes.add(reserving[0]?.logicalId ?? '', left);
  return 0;
};
