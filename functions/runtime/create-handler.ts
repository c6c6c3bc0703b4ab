import middy from '@middy/core';

/**
 * What has run out of time is ended by Lambda, with its instance. Were it answered just before that, as is middy's default, what
 * it had begun would go on in the midst of a later invocation.
 */
export const createHandler = <Event, Result>() => middy<Event, Result>({ timeoutEarlyInMillis: 0 });
