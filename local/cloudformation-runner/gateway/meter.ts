import { z } from 'zod';
import type { AwsCall } from './aws-call.ts';
import { computeConsumedCapacity } from './consumed-capacity.ts';

const CHUNK_BYTES = 64 * 1024;
const MB_MS_OF_A_GB_SECOND = 1024 * 1000;
/** Lambda sells CPU by memory. One thread uses one core at the most. */
const MB_OF_A_CORE = 1769;
const NO_INVOCATION = {
  invocations: 0,
  failures: 0,
  cpuMs: 0,
  durationMs: 0,
  cpuGbSeconds: 0,
  gbSeconds: 0,
  maxMemoryMb: 0,
};

export interface CallCount {
  caller: string;
  service: string;
  operation: string;
  resource: string;
  calls: number;
  /** In billing units: 64 KB steps for SQS and EventBridge, calls for the rest. */
  billed: number;
  /** Conditions that did not hold. Such a write is billed too. */
  refused: number;
}

interface CapacityCount {
  resource: string;
  kind: 'read' | 'write';
  units: number;
}

export interface InvocationCount {
  functionName: string;
  memoryMb: number;
  invocations: number;
  failures: number;
  /** CPU of the function's own thread on a whole core, with its cold start. */
  cpuMs: number;
  /** Wall time on this machine, with the time that Lambda's share of a core adds. */
  durationMs: number;
  /** Memory × Lambda's CPU time: the cost if it never waited. */
  cpuGbSeconds: number;
  gbSeconds: number;
  /** The highest of one instance. */
  maxMemoryMb: number;
}

export interface Reading {
  calls: CallCount[];
  capacity: CapacityCount[];
  invocations: InvocationCount[];
  httpRequests: number;
}

export class Meter {
  isOn = false;
  readonly #calls = new Map<string, CallCount>();
  readonly #capacity = new Map<string, CapacityCount>();
  readonly #invocations = new Map<string, InvocationCount>();
  #httpRequests = 0;

  recordCall(call: AwsCall, request: unknown, answer: unknown): void {
    if (!this.isOn) return;
    const { caller, service, operation, resource } = call;
    const key = [caller, service, operation, resource].join('|');
    const count = this.#calls.get(key) ?? { caller, service, operation, resource, calls: 0, billed: 0, refused: 0 };
    count.calls += 1;
    count.billed += computeBilledUnits(service, request, answer);
    if (Refusal.safeParse(answer).success) count.refused += 1;
    this.#calls.set(key, count);
    if (service === 'dynamodb')
      for (const one of computeConsumedCapacity(operation, request, answer)) this.#consume(one);
  }

  #consume({ resource, kind, units }: CapacityCount): void {
    const key = `${kind}|${resource}`;
    const sum = (this.#capacity.get(key)?.units ?? 0) + units;
    this.#capacity.set(key, { resource, kind, units: sum });
  }

  recordInvocation(
    functionName: string,
    memoryMb: number,
    took: { cpuMs: number; durationMs: number; memoryMb: number; hasFailed: boolean },
  ) {
    if (!this.isOn) return;
    const sum = this.#invocations.get(functionName) ?? { functionName, memoryMb, ...NO_INVOCATION };
    const lambdaCpuMs = took.cpuMs * Math.max(1, MB_OF_A_CORE / memoryMb);
    const durationMs = took.durationMs + lambdaCpuMs - took.cpuMs;
    sum.invocations += 1;
    sum.failures += took.hasFailed ? 1 : 0;
    sum.cpuMs += took.cpuMs;
    sum.durationMs += durationMs;
    sum.cpuGbSeconds += (memoryMb * lambdaCpuMs) / MB_MS_OF_A_GB_SECOND;
    sum.gbSeconds += (memoryMb * durationMs) / MB_MS_OF_A_GB_SECOND;
    sum.maxMemoryMb = Math.max(sum.maxMemoryMb, took.memoryMb);
    this.#invocations.set(functionName, sum);
  }

  recordHttpRequest(): void {
    if (this.isOn) this.#httpRequests += 1;
  }

  read(): Reading {
    return {
      calls: [...this.#calls.values()].map((count) => ({ ...count })),
      capacity: [...this.#capacity.values()],
      invocations: [...this.#invocations.values()].map((count) => ({ ...count })),
      httpRequests: this.#httpRequests,
    };
  }

  reset(): void {
    this.#calls.clear();
    this.#capacity.clear();
    this.#invocations.clear();
    this.#httpRequests = 0;
  }
}

const Refusal = z.object({
  __type: z.string().regex(/#(ConditionalCheckFailed|TransactionCanceled)Exception$/),
});

const Sent = z.object({ MessageBody: z.string() });
const SentBatch = z.object({ Entries: z.array(Sent) });
const Received = z.object({ Messages: z.array(z.object({ Body: z.string() })) });
const Events = z.object({ Entries: z.array(z.object({ Detail: z.string().default('') })) });

const countChunks = (bytes: number): number => Math.max(1, Math.ceil(bytes / CHUNK_BYTES));
const getBytes = (texts: string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

const computeBilledUnits = (service: string, request: unknown, answer: unknown): number => {
  if (service === 'events') {
    const { data } = Events.safeParse(request);
    return data ? data.Entries.reduce((sum, { Detail }) => sum + countChunks(Buffer.byteLength(Detail)), 0) : 1;
  }
  if (service !== 'sqs') return 1;
  const one = Sent.safeParse(request).data;
  if (one) return countChunks(Buffer.byteLength(one.MessageBody));
  const batch = SentBatch.safeParse(request).data;
  if (batch) return countChunks(getBytes(batch.Entries.map(({ MessageBody }) => MessageBody)));
  const received = Received.safeParse(answer).data;
  return received ? countChunks(getBytes(received.Messages.map(({ Body }) => Body))) : 1;
};
