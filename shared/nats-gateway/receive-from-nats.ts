import type { Dialect } from '../dialects/dialect.ts';
import { DIALECTS, getAgentDialect } from '../dialects/registry.ts';
import type { Deps } from '../identity/deps.ts';
import { type IngestResult, ingestMessage, type ReceiveContext } from '../ingest/ingest-message.ts';
import { findProfiledSender } from '../ingest/resolve-sender-dialect.ts';
import { isPermanent, ParleyError } from '../kernel/errors.ts';
import { toCanonicalId } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { parseTrace } from '../kernel/trace.ts';
import { getHeader, type NatsEnvelope } from '../nats/nats-message.ts';
import { findTaskByAnyId } from '../tasks/ids/aliases.ts';

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
  const { headers, subject, publishedAt } = arrival;
  const profiled = await findProfiledSender(deps, sent.caller, message, subject);
  const candidates = profiled ? [getAgentDialect(profiled), ...DIALECTS] : DIALECTS;
  const owner = candidates.find(({ natsBinding }) => natsBinding?.matchesSubject(subject));
  try {
    const said = (name: string): string | undefined => getHeader(headers, name);
    const trace = parseTrace(said('traceparent'), said('tracestate'), said('baggage'));
    const [dialect, broadcast] = [owner?.name ?? said('parley-dialect'), said('parley-broadcast')];
    const isAlreadyPublished = owner ? true : undefined;
    const own: ReceiveContext = {
      ...sent,
      trace,
      dialect,
      profile: owner?.profile,
      broadcast,
      isAlreadyPublished,
      publishedAt,
    };
    return await ingestMessage(deps, own, owner?.natsBinding?.fromNats(arrival, message) ?? message);
  } catch (error) {
    if (owner && (await isUnrelated(deps, owner, sent, arrival, message, error))) {
      return {
        id: String(message.id),
        dialect: owner.name,
        duplicate: false,
        skipped: 'it is about no task of Parley',
      };
    }
    const rejectionNotice =
      error instanceof ParleyError && owner?.natsBinding?.buildRejectionNotice?.(message, error, deps.clock.now());
    if (!rejectionNotice) throw error;
    const { code, issues, retryable, cause, details } = error;
    throw new ParleyError(code, error.message, { issues, retryable, cause, details: { ...details, rejectionNotice } });
  }
};

const isUnrelated = async (
  { config, records }: Deps,
  { natsBinding }: Dialect,
  { caller: { project } }: ReceiveContext,
  arrival: NatsEnvelope,
  message: JsonObject,
  refusal: unknown,
): Promise<boolean> => {
  if (!natsBinding?.isUnrelated || !isPermanent(refusal)) return false;
  const hasTask = async (id: string): Promise<boolean> =>
    (await findTaskByAnyId(records, project, toCanonicalId(id))) !== undefined;
  return natsBinding.isUnrelated(arrival, message, refusal, { project, config, hasTask });
};
