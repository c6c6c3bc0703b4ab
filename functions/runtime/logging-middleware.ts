import type { MiddlewareObj } from '@middy/core';
import { logger } from './function-logger.ts';

/** Every line of an invocation carries what is known of it; the next one begins with none of it. */
export const createLoggingMiddleware = <Event, Result>(
  about: (event: Event) => Record<string, string>,
): MiddlewareObj<Event, Result> => ({
  before: ({ event, context }) => {
    logger.startInvocation(context, about(event));
  },
  onError: ({ error }) => {
    logger.error('function failed', { error });
  },
});
