import type { RefusalContext } from '../dialects/nats-binding.ts';
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
  const site = { project: sent.caller.project, config: deps.config };
  const profiled = await findProfiledSender(deps, sent.caller, message);
  const candidates = profiled ? [getAgentDialect(profiled), ...DIALECTS] : DIALECTS;
  const owner = candidates.find(({ natsBinding }) => natsBinding?.matchesSubject(subject, site));
  try {
    const readHeader = (name: string): string | undefined => getHeader(headers, name);
    const trace = parseTrace(readHeader('traceparent'), readHeader('tracestate'), readHeader('baggage'));
    const [dialect, broadcast] = [owner?.name ?? readHeader('parley-dialect'), readHeader('parley-broadcast')];
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
    return await ingestMessage(deps, own, owner?.natsBinding?.fromNats(arrival, message, site) ?? message);
  } catch (error) {
    if (!owner?.natsBinding || !(error instanceof ParleyError)) throw error;
    const { buildRejectionNotice, isUnrelated } = owner.natsBinding;
    const about = buildRefusalContext(deps, sent);
    if (isPermanent(error) && (await isUnrelated?.(arrival, message, error, about))) {
      return {
        id: String(message.id),
        dialect: owner.name,
        duplicate: false,
        skipped: 'it is about no task of Parley',
      };
    }
    const rejectionNotice = await buildRejectionNotice?.(arrival, message, error, about);
    if (!rejectionNotice) throw error;
    const { code, issues, retryable, cause, details } = error;
    throw new ParleyError(code, error.message, { issues, retryable, cause, details: { ...details, rejectionNotice } });
  }
};

const buildRefusalContext = (
  { clock, config, records }: Deps,
  { caller: { project } }: ReceiveContext,
): RefusalContext => ({
  project,
  config,
  now: clock.now(),
  hasTask: async (id) => (await findTaskByAnyId(records, project, toCanonicalId(id))) !== undefined,
});
