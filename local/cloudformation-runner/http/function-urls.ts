import { z } from 'zod';
import type { Meter } from '../gateway/meter.ts';
import type { ResourceGraph } from '../graph.ts';
import { hasOpenUrl, parseFunctionName } from '../iam/service-access.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import { FunctionUrl } from '../resources/compute.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { answerRequest } from './http-api.ts';

export interface RunningUrls {
  addresses: Record<string, string>;
  open(plan: ResourceGraph, functions: ReadonlyMap<string, LambdaFunction>, meter: Meter): void;
  close(): Promise<void>;
}

const Types = z.object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) });

/** Lambda refuses every call to a URL without a permission for `*`. */
export const checkUrls = (plan: ResourceGraph): void => {
  for (const { logicalId, properties } of plan.listResources(FunctionUrl)) {
    const name = parseFunctionName(properties.TargetFunctionArn);
    if (!hasOpenUrl(plan, name))
      plan.mistakes.add(logicalId, `no permission lets everybody call the address of ${name}`);
  }
};

/** Before the template is read, because functions may get the URLs as variables. */
export const reserveUrls = async (template: unknown, host: string): Promise<RunningUrls> => {
  const resources = Object.entries(Types.safeParse(template).data?.Resources ?? {});
  const servers = new Map<string, ApiServer>();
  for (const [logicalId, { Type }] of resources) {
    if (Type === FunctionUrl.type) servers.set(logicalId, await startApiServer(0, host));
  }
  return {
    addresses: Object.fromEntries([...servers].map(([logicalId, { address }]) => [logicalId, address])),
    open: (plan, functions, meter) => {
      for (const { logicalId, properties } of plan.listResources(FunctionUrl)) {
        const functionName = parseFunctionName(properties.TargetFunctionArn);
        const route = { key: '$default', functionName, timeoutMs: 15 * 60_000 };
        const facts = { apiId: logicalId.toLowerCase(), account: plan.site.account, isFunctionUrl: true as const };
        const api = { logicalId, facts, routes: [route], mayPass: () => true };
        servers.get(logicalId)?.open(answerRequest(api, functions, meter));
      }
    },
    close: async () => {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
};
