import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import type { Clock } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { CLIENT_DEFAULTS, type ClientOptions } from './aws-clients.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { splitIntoChunks, waitBeforeRetry } from './backoff.ts';
import type { PublishExternally } from './dynamo-events.ts';

/** EventBridge takes ten entries and 256 KB per request. */
const MAX_ENTRIES = 10;
const MAX_REQUEST_BYTES = 240 * 1024;

/** The dispatcher waits for the bus, so a bus that is too busy costs it half a second at most. */
const MAX_RETRIES = 3;

/** The bus for an event, or undefined if it goes to none. */
type FindBus = (event: ParleyEvent) => string | undefined;

export const createBusPublisher = (findBus: FindBus, clock: Clock, options: ClientOptions = {}): PublishExternally => {
  const eventBridge = new EventBridgeClient({ ...CLIENT_DEFAULTS, ...options });
  return async (events) => {
    const entries = events.flatMap((event) => {
      const bus = findBus(event);
      return bus === undefined ? [] : toBusEntry(bus, event);
    });
    await Promise.all(
      splitIntoChunks(entries, MAX_ENTRIES, MAX_REQUEST_BYTES, getEntryBytes).map(async (chunk) => {
        let left = chunk;
        for (let attempt = 0; left.length > 0; attempt++) {
          if (attempt > MAX_RETRIES) throw new Error(`EventBridge refused ${left.length} events`);
          if (attempt > 0) await waitBeforeRetry(clock, attempt, 'EventBridge');
          left = await putEvents(eventBridge, left);
        }
      }),
    );
  };
};

const getEntryBytes = ({ Detail: detail = '' }: PutEventsRequestEntry): number => Buffer.byteLength(detail);

const putEvents = async (eventBridge: EventBridgeClient, entries: PutEventsRequestEntry[]) => {
  const { Entries: outcomes = [] } = await mapAwsErrors(eventBridge.send(new PutEventsCommand({ Entries: entries })));
  return entries.filter((_, index) => outcomes[index]?.ErrorCode !== undefined);
};

const toBusEntry = (bus: string, event: ParleyEvent): PutEventsRequestEntry => ({
  EventBusName: bus,
  Source: 'parley',
  DetailType: event.type,
  Time: new Date(event.at),
  Detail: JSON.stringify({ id: event.id, project: event.project, at: event.at, ...event.data }),
});
