import type { Context } from 'aws-lambda';
import { logger } from './function-logger.ts';

interface HandlerOptions<Event> {
  /** What every line of an invocation says beside. The next invocation begins without it. */
  getLogFields?: (event: Event) => Record<string, string>;
}

/**
 * What has run out of time is ended by Lambda, with its instance: answered just before that, what it had begun would go on in the
 * midst of a later invocation.
 */
export const createHandler =
  <Event, Result>(
    handle: (event: Event, context: Context) => Promise<Result>,
    { getLogFields = () => ({}) }: HandlerOptions<Event> = {},
  ) =>
  async (event: Event, context: Context): Promise<Result> => {
    try {
      logger.startInvocation(context, getLogFields(event));
      return await handle(event, context);
    } catch (error) {
      logger.error('function failed', { error });
      throw error;
    } finally {
      await logger.flush();
    }
  };
