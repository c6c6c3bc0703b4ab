/**
 * Which fields only their readers look at, for an engine that stores those smaller (the sizes of records are what DynamoDB
 * bills). A field that a condition names, or that is unset one day, must not be among the fixed ones. Those are stored by their
 * order here: new ones come last, and none goes.
 */
export const PACKING = {
  fixed: [
    'project',
    'id',
    'dialect',
    'priority',
    'from',
    'capability',
    'parent',
    'createdAt',
    'queuedAt',
    'ttlSeconds',
    'maxAttempts',
    'input',
    'carried',
    'fingerprint',
    'traceparent',
    'tracestate',
    'told',
    'thread',
    'type',
    'correlation',
    'content',
    'chain',
    'retry',
  ],
  bulky: [
    'output',
    'artifacts',
    'outcomeCarried',
    'outcomeTold',
    'outcome',
    'progress',
    'error',
    'claimNote',
    'prompt',
    'answer',
    'capabilities',
    'domains',
    'manifest',
    'batch',
    'cards',
  ],
} as const;
