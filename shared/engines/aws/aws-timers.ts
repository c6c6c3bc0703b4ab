import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { sleep } from '../../ports/clock.ts';
import type { EngineHandlers } from '../../ports/engine-handlers.ts';
import type { Item, RecordChange, Records } from '../../ports/records.ts';
import type { DynamoTable } from './dynamo-table.ts';
import { sendInBatches } from './sqs-queue.ts';
import type { DueMessage, Sweep } from './sweep-due.ts';

/** The sweep runs every 60 s; 15 s more cover a late one. */
export const SWEEP_LOOKAHEAD_MS = 75_000;
/** Two sweep intervals. A timer due sooner is sent at once. */
const SOON_MS = 120_000;
/** Clocks differ: the receiver waits for the rest of a delay up to this. */
const MAX_EARLY_MS = 2000;
/** What comes later than this has waited behind others. It is left to the sweep, so that newer ones are in time. */
const MAX_LATE_MS = 120_000;

interface FireOptions {
  /** A message that failed before must come to its end, or nobody would hear of it. */
  isFirstReceive: boolean;
}

export interface AwsTimers {
  sweep: Sweep;
  scheduleSoonDue(changes: RecordChange[]): Promise<void>;
  /** Does nothing if the timer was moved since. */
  fire(message: DueMessage, due: EngineHandlers['onTimer'], options?: FireOptions): Promise<void>;
}

export const createAwsTimers = (table: DynamoTable, records: Records, sqs: SQSClient, queueUrl: string): AwsTimers => {
  const { clock } = table;
  const send = (messages: DueMessage[]): Promise<void> =>
    sendInBatches({ clock }, new Map([[queueUrl, messages]]), async (url, batch) => {
      const entries = batch.map((message, index) => ({
        Id: String(index),
        MessageBody: JSON.stringify(message),
        DelaySeconds: Math.max(0, Math.ceil(((message.at ?? message.due) - clock.now()) / 1000)),
      }));
      return (await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: entries }))).Failed;
    });
  let sweep: Promise<Sweep> | undefined;
  return {
    sweep: async (...args) => {
      // Ingest sweeps nothing.
      sweep ??= import('./sweep-due.ts').then(({ createSweep }) => createSweep(table, send, MAX_LATE_MS));
      return (await sweep)(...args);
    },
    scheduleSoonDue: (changes) => send(changes.flatMap((change) => pickSoonDue(change, clock.now()))),
    fire: async ({ pk, sk, due, at = due }, hand, { isFirstReceive } = { isFirstReceive: false }) => {
      const early = due - clock.now();
      if (early > 0 && early <= MAX_EARLY_MS) await sleep(clock, early).done;
      if (isFirstReceive && clock.now() - at > MAX_LATE_MS) return;
      const record = await records.get({ pk, sk });
      if (record?.due === due && due <= clock.now()) await hand(record);
    },
  };
};

const pickSoonDue = ({ before, after }: RecordChange, now: number): DueMessage[] => {
  if (after?.due === undefined || after.due === before?.due || after.due > now + SOON_MS) return [];
  return [toDueMessage(after, after.due)];
};

const toDueMessage = ({ pk, sk }: Item, due: number): DueMessage => ({ pk, sk, due });
