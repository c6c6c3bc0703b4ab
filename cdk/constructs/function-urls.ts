import { Stack } from 'aws-cdk-lib';
import { FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { DEFAULT_ROUTE_FUNCTION, type FunctionName, ROUTES } from '../function-specs.ts';
import type { ParleyFunction } from './parley-function.ts';

/** LocalStack's free tier has no HTTP APIs, so each function gets its own URL. The output maps route to URL as JSON. */
export const createFunctionUrls = (scope: Construct, functions: Record<FunctionName, ParleyFunction>): string => {
  const urls = new Map<FunctionName, string>();
  const getFunctionUrl = (name: FunctionName): string => {
    const url = urls.get(name) ?? functions[name].lambda.addFunctionUrl({ authType: FunctionUrlAuthType.NONE }).url;
    urls.set(name, url);
    return url;
  };
  const routes = ROUTES.map(({ method, path, to }) => [`${method} ${path}`, getFunctionUrl(to)]);
  return Stack.of(scope).toJsonString(
    Object.fromEntries([...routes, ['$default', getFunctionUrl(DEFAULT_ROUTE_FUNCTION)]]),
  );
};
