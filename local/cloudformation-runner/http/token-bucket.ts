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
