/** No headers and no bodies: they contain keys and payloads. Short, as it is a line for each call; CloudWatch adds the time. */
export const ACCESS_LOG = {
  id: '$context.requestId',
  ip: '$context.identity.sourceIp',
  call: '$context.httpMethod $context.path',
  status: '$context.status',
  ms: '$context.responseLatency',
  lambdaMs: '$context.integrationLatency',
  bytes: '$context.responseLength',
  error: '$context.error.message',
  cause: '$context.integrationErrorMessage',
};
