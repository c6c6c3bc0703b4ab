import { getInboxMode } from '../../dialects/registry.ts';
import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { type JsonObject, measureJson, toJsonObject } from '../../kernel/json/json.ts';
import { inboxPk, inboxSortKey } from '../../model/delivery.ts';
import { directMessageRef } from '../../model/direct-message.ts';
import type { InboxReport } from '../../model/inbox-report.ts';
import { deleteOrphans, storeContent, withBlobCleanup } from '../../storage/content.ts';
import { writeMessage } from './send-direct-message.ts';

/** The type of a report as a direct message. */
const REPORT_TYPE = 'task.report';

/** Idempotent: delivers a report of the holder to the inbox of the requester. */
export const deliverReport = async (deps: Deps, report: InboxReport): Promise<void> => {
  const { id, from, to, toInstance, sentAs, task } = report;
  const { project, priority, traceparent, tracestate, baggage } = task;
  const recipient = await findAgent(deps, project, to);
  if (!recipient || getInboxMode(recipient.agent) === 'ends') return;
  const { inboxLimit, transport } = recipient.agent;
  const measured = measureJson<JsonObject>(toJsonObject(task));
  const content = await storeContent(deps, project, id, measured);
  const message = {
    ...directMessageRef(project, from, id),
    sk: 'direct-message' as const,
    project,
    id,
    dialect: SYSTEM_SENDER,
    from,
    to,
    toInstance,
    type: REPORT_TYPE,
    taskId: task.id,
    priority,
    createdAt: task.at,
    correlation: task.id,
    content,
    extensions: {},
    fingerprint: computeFingerprint(measured.value),
    traceparent,
    tracestate,
    baggage,
    // In an unbounded inbox it expires by itself.
    expires: inboxLimit === undefined ? deps.clock.now() + deps.config.tasks.retentionMs : undefined,
    ...(transport === 'nats'
      ? { deliveryTarget: 'nats' as const }
      : { byList: { pk: inboxPk(project, to), sk: inboxSortKey(sentAs.at, id, sentAs.sequence) } }),
  };
  const existing = await withBlobCleanup(deps.blobs, [content], () =>
    writeMessage(deps, recipient.agent, message, { isDroppable: true }),
  );
  if (existing !== 'written') await deleteOrphans(deps.blobs, [content], [existing?.content]);
};
