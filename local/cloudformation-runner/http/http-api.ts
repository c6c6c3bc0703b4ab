import type { RunningContainer } from '../containers/container.ts';
import type { Meter } from '../gateway/meter.ts';
import type { ResourceGraph } from '../graph.ts';
import { canInvoke, parseFunctionName } from '../iam/service-access.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import { Api, ApiRouteType, Integration, Stage } from '../resources/http-api.ts';
import { type ApiAnswer, buildMessage } from './api-server.ts';
import { forwardRequest } from './forward-request.ts';
import { type ApiFacts, type ApiResponse, buildEvent, toApiResponse } from './payload-v2.ts';
import { type ApiRoute, createRouteFinder } from './routes.ts';
import { createRouteThrottle } from './token-bucket.ts';

/** Lambda's limit for request and response. */
const LAMBDA_BYTES = 6 * 1024 * 1024;

export interface PlannedApi {
  logicalId: string;
  facts: ApiFacts;
  routes: ApiRoute[];
  mayPass: (routeKey: string) => boolean;
}

export const parseHttpApi = (plan: ResourceGraph): PlannedApi | undefined => {
  const [api, ...more] = plan.listResources(Api);
  for (const { logicalId } of more) plan.mistakes.add(logicalId, 'the local runner runs one HTTP API');
  if (!api) return undefined;
  const [stage] = plan.listResources(Stage).filter(({ properties }) => properties.ApiId === api.ref);
  if (!stage) plan.mistakes.add(api.logicalId, 'has no stage, so that nobody can call it');
  const integrations = plan.listResources(Integration);
  const routes = plan.listResources(ApiRouteType).flatMap(({ logicalId, properties: { RouteKey, Target } }) => {
    const integration = integrations.find(({ ref }) => Target === `integrations/${ref}`);
    if (!integration) {
      plan.mistakes.add(logicalId, `there is no integration for ${Target}`);
      return [];
    }
    const { IntegrationType, IntegrationUri, TimeoutInMillis: timeoutMs } = integration.properties;
    if (IntegrationType === 'HTTP_PROXY')
      return [{ key: RouteKey, functionName: '', registry: IntegrationUri, timeoutMs }];
    const functionName = parseFunctionName(createInvoker(IntegrationUri));
    const sourceArn = `arn:aws:execute-api:${plan.site.region}:${plan.site.account}:${api.ref}/$default/${buildSourcePath(RouteKey)}`;
    if (!canInvoke(plan, functionName, 'apigateway.amazonaws.com', sourceArn)) {
      plan.mistakes.add(logicalId, `no permission lets API Gateway invoke ${functionName} for ${RouteKey}`);
    }
    return [{ key: RouteKey, functionName, timeoutMs }];
  });
  const { DefaultRouteSettings, RouteSettings = {} } = stage?.properties ?? {};
  return {
    logicalId: api.logicalId,
    facts: { apiId: api.ref, account: plan.site.account },
    routes,
    mayPass: createRouteThrottle(DefaultRouteSettings, RouteSettings),
  };
};

const createInvoker = (uri: string): string => /functions\/(arn:.+)\/invocations$/.exec(uri)?.[1] ?? uri;

const buildSourcePath = (key: string): string => {
  const [method = '', path = ''] = key.split(' ');
  return key === '$default' ? '$default' : `${method === 'ANY' ? '*' : method}${path}`;
};

export const answerRequest = (
  api: PlannedApi,
  functions: ReadonlyMap<string, LambdaFunction>,
  meter: Meter,
  containers: readonly Pick<RunningContainer, 'registries' | 'address'>[] = [],
): ApiAnswer => {
  const find = createRouteFinder(api.routes);
  return async (incoming, body) => {
    meter.recordHttpRequest();
    const { url = '/', method = 'GET' } = incoming;
    const match = find(method, url.split('?')[0] ?? '/');
    if (!match) return buildMessage(404, 'Not Found');
    if (!api.mayPass(match.route.key)) return buildMessage(429, 'Too Many Requests');
    const { registry, functionName, timeoutMs } = match.route;
    if (registry !== undefined) {
      const container = containers.find(({ registries }) => registries.includes(registry));
      if (!container) return buildMessage(503, 'Service Unavailable');
      return forwardRequest(incoming, body, container.address, timeoutMs);
    }
    const target = functions.get(functionName);
    if (!target) return buildMessage(404, 'Not Found');
    const event = buildEvent(incoming, body, match, api.facts);
    if (Buffer.byteLength(JSON.stringify(event)) > LAMBDA_BYTES) return buildMessage(413, 'Request Entity Too Large');
    const result = await matchesStage(timeoutMs, target.invoke(event));
    if (result === 'too late' || result.ok === 'throttled') return buildMessage(503, 'Service Unavailable');
    return (result.ok && respondFrom(result.result)) || buildMessage(500, 'Internal Server Error');
  };
};

const matchesStage = async <T>(timeoutMs: number, answer: Promise<T>): Promise<T | 'too late'> => {
  const { promise, resolve } = Promise.withResolvers<'too late'>();
  const timer = setTimeout(() => resolve('too late'), timeoutMs);
  const first = await Promise.race([answer, promise]);
  clearTimeout(timer);
  return first;
};

const respondFrom = (result: string): ApiResponse | undefined =>
  Buffer.byteLength(result) > LAMBDA_BYTES ? undefined : toApiResponse(result);
