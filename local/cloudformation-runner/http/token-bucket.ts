import type { Throttling } from '../resources/http-api.ts';

export const createTokenBucket = (
  burst: number,
  perSecond: number,
  now: () => number = performance.now.bind(performance),
) => {
  let tokens = burst;
  let at = now();
  return (): boolean => {
    const passed = now() - at;
    at += passed;
    tokens = Math.min(burst, tokens + (passed / 1000) * perSecond);
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
};

/** Default settings are those of each route, which has a bucket of its own. */
export const createRouteThrottle = (
  common: Throttling | undefined,
  own: Record<string, Throttling>,
): ((routeKey: string) => boolean) => {
  const createThrottleBucket = ({ ThrottlingBurstLimit: burst, ThrottlingRateLimit: rate }: Throttling = {}) =>
    burst === undefined || rate === undefined ? () => true : createTokenBucket(burst, rate);
  const buckets = new Map<string, () => boolean>();
  return (routeKey) => {
    const bucket = buckets.get(routeKey) ?? createThrottleBucket(own[routeKey] ?? common);
    buckets.set(routeKey, bucket);
    return bucket();
  };
};
