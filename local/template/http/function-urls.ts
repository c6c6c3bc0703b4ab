import { z } from 'zod';
import { functionNameOf, hasOpenUrl } from '../access/service-access.ts';
import type { Meter } from '../gateway/meter.ts';
import { FunctionUrl } from '../kinds/compute.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import type { Plan } from '../plan.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { answerOf } from './http-api.ts';

/** A server for each function URL, on a port of its own. */
export interface RunningUrls {
  addresses: Record<string, string>;
  open(plan: Plan, functions: ReadonlyMap<string, LambdaFunction>, meter: Meter): void;
  close(): Promise<void>;
}

const Types = z.object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) });

/** Without a permission for everybody, Lambda refuses every call. */
export const checkUrls = (plan: Plan): void => {
  for (const { logicalId, properties } of plan.all(FunctionUrl)) {
    const name = functionNameOf(properties.TargetFunctionArn);
    if (!hasOpenUrl(plan, name))
      plan.mistakes.add(logicalId, `no permission lets everybody call the address of ${name}`);
  }
};

/** Their addresses must be known before the template is read, because functions may be told them. */
export const reserveUrls = async (template: unknown, host: string): Promise<RunningUrls> => {
  const resources = Object.entries(Types.safeParse(template).data?.Resources ?? {});
  const servers = new Map<string, ApiServer>();
  for (const [logicalId, { Type }] of resources) {
    if (Type === FunctionUrl.type) servers.set(logicalId, await startApiServer(0, host));
  }
  return {
    addresses: Object.fromEntries([...servers].map(([logicalId, { address }]) => [logicalId, address])),
    open: (plan, functions, meter) => {
      for (const { logicalId, properties } of plan.all(FunctionUrl)) {
        const functionName = functionNameOf(properties.TargetFunctionArn);
        const route = { key: '$default', functionName, timeoutMs: 15 * 60_000 };
        const facts = { apiId: logicalId.toLowerCase(), account: plan.site.account, isFunctionUrl: true as const };
        const api = { logicalId, facts, routes: [route], mayPass: () => true };
        servers.get(logicalId)?.open(answerOf(api, functions, meter));
      }
    },
    close: async () => {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
};
