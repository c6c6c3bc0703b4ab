import { functionNameOf, mayInvoke } from '../access/service-access.ts';
import type { Meter } from '../gateway/meter.ts';
import { Api, Integration, Route, Stage, type Throttling } from '../kinds/http-api.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import type { Plan } from '../plan.ts';
import { type Answer, message } from './api-server.ts';
import { type ApiFacts, type ApiResponse, eventOf, responseFrom } from './payload-v2.ts';
import { type ApiRoute, routeFinder } from './routes.ts';
import { tokenBucket } from './token-bucket.ts';

/** What Lambda takes and gives in one call. */
const LAMBDA_BYTES = 6 * 1024 * 1024;

export interface PlannedApi {
  logicalId: string;
  facts: ApiFacts;
  routes: ApiRoute[];
  mayPass: (routeKey: string) => boolean;
}

/** The one HTTP API of the plan; what keeps it from running, such as a missing permission, becomes a mistake. */
export const apiOf = (plan: Plan): PlannedApi | undefined => {
  const [api, ...more] = plan.all(Api);
  for (const { logicalId } of more) plan.mistakes.add(logicalId, 'the local runner runs one HTTP API');
  if (!api) return undefined;
  const [stage] = plan.all(Stage).filter(({ properties }) => properties.ApiId === api.ref);
  if (!stage) plan.mistakes.add(api.logicalId, 'has no stage, so that nobody can call it');
  const integrations = plan.all(Integration);
  const routes = plan.all(Route).flatMap(({ logicalId, properties: { RouteKey, Target } }) => {
    const integration = integrations.find(({ ref }) => Target === `integrations/${ref}`);
    if (!integration) {
      plan.mistakes.add(logicalId, `there is no integration for ${Target}`);
      return [];
    }
    const functionName = functionNameOf(invokedBy(integration.properties.IntegrationUri));
    const sourceArn = `arn:aws:execute-api:${plan.site.region}:${plan.site.account}:${api.ref}/$default/${sourcePath(RouteKey)}`;
    if (!mayInvoke(plan, functionName, 'apigateway.amazonaws.com', sourceArn)) {
      plan.mistakes.add(logicalId, `no permission lets API Gateway invoke ${functionName} for ${RouteKey}`);
    }
    return [{ key: RouteKey, functionName, timeoutMs: integration.properties.TimeoutInMillis }];
  });
  const { DefaultRouteSettings, RouteSettings = {} } = stage?.properties ?? {};
  return {
    logicalId: api.logicalId,
    facts: { apiId: api.ref, account: plan.site.account },
    routes,
    mayPass: throttle(DefaultRouteSettings, RouteSettings),
  };
};

/** `…/functions/<arn>/invocations`, or the function's ARN itself. */
const invokedBy = (uri: string): string => /functions\/(arn:.+)\/invocations$/.exec(uri)?.[1] ?? uri;

const sourcePath = (key: string): string => {
  const [method = '', path = ''] = key.split(' ');
  return key === '$default' ? '$default' : `${method === 'ANY' ? '*' : method}${path}`;
};

const throttle = (common: Throttling | undefined, own: Record<string, Throttling>): PlannedApi['mayPass'] => {
  const bucketOf = ({ ThrottlingBurstLimit: burst, ThrottlingRateLimit: rate }: Throttling = {}) =>
    burst === undefined || rate === undefined ? () => true : tokenBucket(burst, rate);
  const buckets = new Map(Object.entries(own).map(([key, settings]) => [key, bucketOf(settings)]));
  const shared = bucketOf(common);
  return (routeKey) => (buckets.get(routeKey) ?? shared)();
};

/** Answers requests as an HTTP API does: what Lambda cannot answer is told in the API's own words. */
export const answerOf = (api: PlannedApi, functions: ReadonlyMap<string, LambdaFunction>, meter: Meter): Answer => {
  const find = routeFinder(api.routes);
  return async (incoming, body) => {
    meter.httpRequest();
    const { url = '/', method = 'GET' } = incoming;
    const match = find(method, url.split('?')[0] ?? '/');
    const target = match && functions.get(match.route.functionName);
    if (!match || !target) return message(404, 'Not Found');
    if (!api.mayPass(match.route.key)) return message(429, 'Too Many Requests');
    const event = eventOf(incoming, body, match, api.facts);
    if (Buffer.byteLength(JSON.stringify(event)) > LAMBDA_BYTES) return message(413, 'Request Entity Too Large');
    const result = await within(match.route.timeoutMs, target.invoke(event));
    if (result === 'too late' || result.ok === 'throttled') return message(503, 'Service Unavailable');
    return (result.ok && answered(result.result)) || message(500, 'Internal Server Error');
  };
};

const within = async <T>(timeoutMs: number, answer: Promise<T>): Promise<T | 'too late'> => {
  const { promise, resolve } = Promise.withResolvers<'too late'>();
  const timer = setTimeout(() => resolve('too late'), timeoutMs);
  const first = await Promise.race([answer, promise]);
  clearTimeout(timer);
  return first;
};

const answered = (result: string): ApiResponse | undefined =>
  Buffer.byteLength(result) > LAMBDA_BYTES ? undefined : responseFrom(result);
