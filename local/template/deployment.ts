import { DONE_BY_LAMBDA } from './access/managed-policies.ts';
import { rolesOf } from './access/roles.ts';
import { type PatternRule, rulesOf } from './events/bus.ts';
import { type PlannedSchedule, schedulesOf } from './events/schedules.ts';
import { checkTargets } from './events/targets.ts';
import { checkUrls } from './http/function-urls.ts';
import { apiOf, type PlannedApi } from './http/http-api.ts';
import type { Site } from './kind.ts';
import { functionsOf, type PlannedFunction } from './lambda/functions.ts';
import { mappingsOf, type PlannedMapping } from './mappings/mappings.ts';
import { type Plan, planOf } from './plan.ts';

/** All that a template runs, with nothing left to find out. */
export interface Deployment {
  plan: Plan;
  functions: PlannedFunction[];
  api: PlannedApi | undefined;
  rules: PatternRule[];
  schedules: PlannedSchedule[];
  mappings: PlannedMapping[];
}

/** Reads and checks a template whole; all mistakes are thrown as one TemplateError. */
export const deploymentOf = (template: unknown, site: Site, assets: string): Deployment => {
  const plan = planOf(template, site);
  const roles = rolesOf(plan);
  const functions = functionsOf(plan, roles, assets);
  const rules = rulesOf(plan);
  const schedules = schedulesOf(plan);
  const mappings = mappingsOf(plan, functions);
  const api = apiOf(plan);
  checkUrls(plan);
  checkTargets(plan, functions, roles, rules, schedules);
  plan.mistakes.throwIfAny();
  for (const { access } of functions) access.use(DONE_BY_LAMBDA);
  return { plan, functions, api, rules, schedules, mappings };
};
