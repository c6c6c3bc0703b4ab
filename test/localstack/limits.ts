/** What LocalStack 4.14.0 itself cannot do, by the tests of `test/aws/` that therefore run on `npm run start:aws` alone. */
export const LIMITS: readonly { tests: readonly string[]; why: string }[] = [
  {
    tests: ['aws/end-to-end.test.ts: refuses no function what it asks of AWS, and allows none what it never asks'],
    why: 'It checks no policy without a licence.',
  },
  { tests: ['aws/grants.test.ts'], why: 'It checks no policy without a licence.' },
  {
    tests: ['aws/poison.test.ts'],
    why: 'A batch of the stream that failed too often is lost: it cannot write binary values to the failure bucket.',
  },
  {
    tests: ['aws/redelivery.test.ts'],
    why: 'It can bring no chosen record or message again, and reads the shards of a stream one after the other.',
  },
  { tests: ['aws/killed.test.ts'], why: 'It can end no function between two chosen calls.' },
  { tests: ['aws/throttled.test.ts'], why: 'It can throttle DynamoDB at random, and SQS not at all.' },
  { tests: ['aws/logs.test.ts'], why: 'It can refuse no chosen call, which is what the logs are about.' },
  { tests: ['aws/time.test.ts: by the sweep'], why: 'Its schedules run once a minute at most.' },
  { tests: ['aws/restored.test.ts'], why: 'It keeps no backups of a table: point-in-time recovery is a flag.' },
  {
    tests: [
      'aws/projects.test.ts',
      'aws/spread.test.ts',
      'aws/turn-requests.test.ts',
      'aws/turns.test.ts',
      'contract/aws.test.ts',
    ],
    why: 'They read DynamoDB alone, which is DynamoDB Local in either.',
  },
  {
    tests: ['cloudformation-runner/http-api.test.ts'],
    why: 'It has no HTTP API without a licence, so that nothing limits requests; function URLs stand for it.',
  },
];

export const formatLimits = (): string =>
  [
    'Tests of start:aws alone, with what LocalStack itself cannot do:',
    ...LIMITS.map(({ tests, why }) => `  ${tests.join(', ')}\n    ${why}`),
  ].join('\n');
