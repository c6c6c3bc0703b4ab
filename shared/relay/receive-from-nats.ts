import type { Deps } from '../deps.ts';
import { DIALECTS } from '../dialects/registry.ts';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../json/json.ts';
import { type IngestResult, ingestMessage, type ReceiveContext } from '../messages/ingest-message.ts';
import { parseTrace } from '../trace.ts';
import { getHeader, type NatsEnvelope } from './nats-message.ts';

/**
 * One message that the relay brings. Its subject tells its dialect, or else its header or its shape. A refusal carries what its
 * sender is to be told, for the relay to publish.
 */
export const receiveFromNats = async (
  deps: Deps,
  sent: ReceiveContext,
  arrival: NatsEnvelope,
  message: JsonObject,
): Promise<IngestResult> => {
  const { headers, subject, saidAt } = arrival;
  const owner = DIALECTS.find(({ onNats }) => onNats?.owns(subject));
  try {
    const said = (name: string): string | undefined => getHeader(headers, name);
    const trace = parseTrace(said('traceparent'), said('tracestate'), said('baggage'));
    const [dialect, broadcast] = [owner?.name ?? said('parley-dialect'), said('parley-broadcast')];
    const heardOnNats = owner ? true : undefined;
    const own: ReceiveContext = { ...sent, trace, dialect, broadcast, heardOnNats, saidAt };
    return await ingestMessage(deps, own, owner?.onNats?.incoming(arrival, message) ?? message);
  } catch (error) {
    const tell = error instanceof ParleyError && owner?.onNats?.refused?.(message, error, deps.clock.now());
    if (!tell) throw error;
    const { code, issues, retry, cause, facts } = error;
    throw new ParleyError(code, error.message, { issues, retry, cause, facts: { ...facts, tell } });
  }
};
