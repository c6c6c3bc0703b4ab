import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import type { Clock } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { type ClientOptions, PATIENCE } from './clients.ts';
import type { Announce } from './events.ts';
import { answerOf } from './failures.ts';
import { backOff, inChunks } from './patience.ts';

/** What one request to the bus takes: ten entries, and 256 KB of them; the rest of an entry is small. */
const MOST_ENTRIES = 10;
const MOST_BYTES = 240 * 1024;

/** Announces on a bus of EventBridge. */
export const onBus = (bus: string, clock: Clock, options: ClientOptions = {}): Announce => {
  const eventBridge = new EventBridgeClient({ ...PATIENCE, ...options });
  return async (events) => {
    const entries = events.map((event) => entryOf(bus, event));
    await Promise.all(
      inChunks(entries, MOST_ENTRIES, MOST_BYTES, bytesOf).map(async (chunk) => {
        let left = chunk;
        for (let attempt = 0; left.length > 0; attempt++) {
          if (attempt > 0) await backOff(clock, attempt, 'EventBridge');
          left = await refused(eventBridge, left);
        }
      }),
    );
  };
};

const bytesOf = ({ Detail: detail = '' }: PutEventsRequestEntry): number => Buffer.byteLength(detail);

const refused = async (eventBridge: EventBridgeClient, entries: PutEventsRequestEntry[]) => {
  const { Entries: outcomes = [] } = await answerOf(eventBridge.send(new PutEventsCommand({ Entries: entries })));
  return entries.filter((_, index) => outcomes[index]?.ErrorCode !== undefined);
};

const entryOf = (bus: string, event: ParleyEvent): PutEventsRequestEntry => ({
  EventBusName: bus,
  Source: 'parley',
  DetailType: event.type,
  Time: new Date(event.at),
  Detail: JSON.stringify({ id: event.id, project: event.project, at: event.at, ...event.data }),
});
