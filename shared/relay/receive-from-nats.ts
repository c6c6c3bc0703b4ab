import type { Deps } from '../deps.ts';
import { dialects } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../json/json.ts';
import { type Accepted, receive, type Sent } from '../messages/receive.ts';
import { traceFrom } from '../trace.ts';
import type { Arrival } from './nats-message.ts';

/**
 * One message that the relay brings. Its subject tells its dialect, or else its header or its shape. A refusal carries what its
 * sender is to be told, for the relay to publish.
 */
export const receiveFromNats = async (
  deps: Deps,
  sent: Sent,
  arrival: Arrival,
  message: JsonObject,
): Promise<Accepted> => {
  const { headers, subject } = arrival;
  const owner = dialects.find(({ onNats }) => onNats?.owns(subject));
  try {
    const trace = traceFrom(headers.traceparent, headers.tracestate);
    const { 'parley-dialect': named, 'parley-broadcast': broadcast } = headers;
    const heardOnNats = owner ? true : undefined;
    const own: Sent = { ...sent, trace, dialect: owner?.name ?? named, broadcast, heardOnNats };
    return await receive(deps, own, owner?.onNats?.incoming(arrival, message) ?? message);
  } catch (error) {
    const tell = error instanceof ParleyError && owner?.onNats?.refused?.(message, error, deps.clock.now());
    if (!tell) throw error;
    const { code, issues, retry, cause, facts } = error;
    throw new ParleyError(code, error.message, { issues, retry, cause, facts: { ...facts, tell } });
  }
};
