import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import type { Clock } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { type ClientOptions, PATIENCE } from './clients.ts';
import type { Announce } from './events.ts';
import { answerOf } from './failures.ts';
import { backOff, inChunks } from './patience.ts';

/** What one request to the bus takes. */
const MOST_ENTRIES = 10;

/** Announces on a bus of EventBridge. */
export const onBus = (bus: string, clock: Clock, options: ClientOptions = {}): Announce => {
  const eventBridge = new EventBridgeClient({ ...PATIENCE, ...options });
  return async (events) => {
    await Promise.all(
      inChunks(events, MOST_ENTRIES).map(async (chunk) => {
        let left = chunk.map((event) => entryOf(bus, event));
        for (let attempt = 0; left.length > 0; attempt++) {
          if (attempt > 0) await backOff(clock, attempt, 'EventBridge');
          left = await refused(eventBridge, left);
        }
      }),
    );
  };
};

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
