import type { Deps } from '../../identity/deps.ts';
import { isPermanent } from '../../kernel/errors.ts';
import { SYSTEM_SENDER, uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { toJsonObject } from '../../kernel/json/json.ts';
import { sendDirectMessage } from '../../messaging/direct-messages/send-direct-message.ts';
import type { Graph } from '../../model/graph.ts';
import { toGraphSummary } from './graph-view.ts';

/** A message from Parley. A graph that runs again and ends again has another one. */
export const deliverGraphEnd = async (deps: Deps, graph: Graph): Promise<void> => {
  const { project, id, from, end } = graph;
  if (!end) return;
  const content = toJsonObject(toGraphSummary(graph));
  const message = {
    kind: 'directMessage' as const,
    messageId: uuidFromSeed(['graph end', id, end.at]),
    from: SYSTEM_SENDER,
    to: from,
    type: `${SYSTEM_SENDER}.graph`,
    priority: 'normal' as const,
    ttlSeconds: Math.round(deps.config.tasks.retentionMs / 1000),
    correlation: id,
    content,
    extensions: {},
    fingerprint: computeFingerprint(content),
  };
  const options = { project, dialect: SYSTEM_SENDER, trace: graph, isVisible: true, isDroppable: true };
  try {
    await sendDirectMessage(deps, options, message);
  } catch (error) {
    // Its requester is no longer registered.
    if (!isPermanent(error)) throw error;
  }
};
