import type { Reading } from '../../local/cloudformation-runner/index.ts';
import { gbSecondsOfWaiting } from './latencies.ts';
import { gbSecondsOfCpu, PRICES } from './prices.ts';

const MILLION = 1_000_000;

export const PARTS = ['HTTP API', 'Lambda', 'DynamoDB writes', 'DynamoDB reads', 'SQS', 'EventBridge', 'Logs'] as const;
export type Part = (typeof PARTS)[number];

export interface Line {
  part: Part;
  what: string;
  perLife: number;
  dollarsPerMillion: number;
}

export const billOf = (reading: Reading, lives: number, logBytes = 0): Line[] => {
  const line = (part: Part, what: string, units: number, price: number): Line => ({
    part,
    what,
    perLife: units / lives,
    dollarsPerMillion: (units / lives) * price * MILLION,
  });
  const { invocations, capacity, calls } = reading;
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  const cpuMs = sum(invocations.map((one) => one.cpuMs));
  return [
    line('HTTP API', 'requests', reading.httpRequests, PRICES.httpRequest),
    line('Lambda', 'invocations', sum(invocations.map((one) => one.invocations)), PRICES.invocation),
    line('Lambda', 'GB-seconds of CPU', gbSecondsOfCpu(cpuMs), PRICES.gbSecond),
    line('Lambda', 'GB-seconds of waiting', gbSecondsOfWaiting(reading), PRICES.gbSecond),
    line('Logs', 'bytes', logBytes, PRICES.logGb / 1e9),
    ...capacity.map(({ resource, kind, units }) =>
      kind === 'write'
        ? line('DynamoDB writes', placeOf(resource), units, PRICES.writeUnit)
        : line('DynamoDB reads', placeOf(resource), units, PRICES.readUnit),
    ),
    ...merged(calls.flatMap((call) => callLine(call, line))),
  ];
};

const callLine = (
  { service, operation, resource, billed }: Reading['calls'][number],
  line: (part: Part, what: string, units: number, price: number) => Line,
): Line[] => {
  if (service === 'dynamodb') return [];
  if (service === 'events') return [line('EventBridge', 'events', billed, PRICES.event)];
  if (service === 'sqs') {
    const isFifo = resource.endsWith('.fifo');
    const what = isFifo ? operation : `${operation}, standard`;
    return [line('SQS', what, billed, isFifo ? PRICES.fifoRequest : PRICES.standardRequest)];
  }
  throw new Error(`a life of this size should not need ${service}:${operation}, which has no price here`);
};

export const placeOf = (resource: string): string => resource.split('/index/')[1] ?? 'table';

const merged = (lines: Line[]): Line[] =>
  [...Map.groupBy(lines, ({ part, what }) => `${part}/${what}`).values()].flatMap((same) =>
    same.slice(0, 1).map((line) => ({ ...line, ...totalOf(same) })),
  );

interface Total {
  perLife: number;
  dollarsPerMillion: number;
}

export const totalOf = (lines: Line[], part?: Part): Total => {
  const counted = lines.filter((line) => part === undefined || line.part === part);
  return {
    perLife: counted.reduce((sum, { perLife }) => sum + perLife, 0),
    dollarsPerMillion: counted.reduce((sum, { dollarsPerMillion }) => sum + dollarsPerMillion, 0),
  };
};

/** Without the polls of event source mappings, which belong to the idle cost. */
export const withoutPolls = (reading: Reading): Reading => ({
  ...reading,
  calls: reading.calls.filter((call) => !isPoll(call)),
});

export const isPoll = ({ caller, operation }: Reading['calls'][number]): boolean =>
  caller.endsWith(' mapping') && operation === 'ReceiveMessage';
