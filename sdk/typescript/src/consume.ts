import type { Schemas } from './api/schemas.ts';
import { ParleyError } from './errors.ts';
import type { Transport } from './transport.ts';

const WAIT_SECONDS = 20;

/** Events of a consumer with a cursor on the server. They are acknowledged page by page, and may come again until then. */
export async function* consumeEvents(
  transport: Transport,
  name: string,
  signal?: AbortSignal,
): AsyncGenerator<Schemas['Event']> {
  const path = `/v1/consumers/${encodeURIComponent(name)}`;
  while (!signal?.aborted) {
    const page = await transport
      .call<Schemas['ReadConsumerEventsResponse']>('POST', `${path}/events`, {
        body: { wait: WAIT_SECONDS },
        signal,
        waitMs: WAIT_SECONDS * 1000,
      })
      .catch((error) => {
        if (signal?.aborted) return { events: [], receipt: undefined };
        throw error;
      });
    let done = 0;
    try {
      for (const event of page.events) {
        yield event;
        done++;
      }
    } finally {
      // A receipt is for all of its events.
      if (page.receipt !== undefined && done === page.events.length) await acknowledge(transport, path, page.receipt);
    }
  }
}

const acknowledge = async (transport: Transport, path: string, receipt: string): Promise<void> => {
  try {
    await transport.call('POST', `${path}/ack`, { body: { receipt } });
  } catch (error) {
    // The lease is over: the events come again.
    if (!(error instanceof ParleyError && error.code === 'stale_receipt')) throw error;
  }
};
