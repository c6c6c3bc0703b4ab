import { hasRelay } from '../../config/project-settings.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import { isChannelMember, pickRandomMember } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { agentStateRef, computeExecutionStatus } from '../../model/agent-state.ts';
import type { Effect } from '../../model/effect.ts';
import type { Wakeup } from '../../model/turn-effect.ts';
import { toRelayEventMessage } from '../../nats/relay-item.ts';
import type { Item, RecordChange } from '../../ports/records.ts';
import { listGroupMembers } from '../lifecycle/group-queues.ts';

/** A wake-up that a message requests. It is stored, so that it is sent by an effect like any other. */
export interface WakeupRecord extends Item {
  sk: 'wakeup';
  wakeup: Wakeup;
}

/** As long as a change may be repeated. */
const WAKEUP_RETENTION_MS = DAY_MS;

export const createWakeup = async ({ records, clock, newId }: Deps, wakeup: Wakeup): Promise<void> => {
  const key = { pk: `${wakeup.context.project}#wakeup#${newId()}`, sk: 'wakeup' as const };
  await records.create<WakeupRecord>({ ...key, wakeup, expires: clock.now() + WAKEUP_RETENTION_MS }, newId());
};

export const computeWakeupEffects = ({ before, after }: RecordChange<WakeupRecord>): Effect[] =>
  after && !before ? [{ kind: 'sendWakeup', wakeup: after.wakeup }] : [];

/** A hint: workers that wait for a lease notice anyway. */
export const sendWakeup = async (deps: Deps, wakeup: Wakeup): Promise<void> => {
  const { cause, at, target, inboxId, reason, publishedTarget, context } = wakeup;
  const agent = wakeup.isForGroup
    ? pickRandomMember(await listIdleMembers(deps, context.project, target, context.channel))
    : target;
  if (agent === undefined) return;
  const worker = (await deps.directory.getAgent(context.project, agent))?.agent;
  const subjectTarget = worker?.workerTarget ?? target;
  const workerContext =
    worker?.profile === undefined ? context : { ...context, protocolVersion: getProfileVersion(deps, worker) };
  const isAlreadyPublished =
    publishedTarget === subjectTarget && workerContext.protocolVersion === context.protocolVersion;
  const turnEvent = {
    kind: 'wakeup',
    cause,
    at,
    target: subjectTarget,
    context: workerContext,
    agent,
    inboxId,
    reason,
  } as const;
  const event = turnProtocol.encodeEvent(turnEvent);
  await deps.events.publish([{ ...event, data: { ...event.data, to: agent } }]);
  if (worker?.transport !== 'nats' || isAlreadyPublished || !hasRelay(deps.config, context.project)) return;
  const onNats = toRelayEventMessage(event);
  if (onNats) await deps.queues.send([onNats]);
};

const getProfileVersion = ({ config }: Deps, { profile }: Agent): string =>
  turnProtocol.resolveVersion(config, undefined, profile);

/** Members that could take a turn on the channel. */
export const listIdleMembers = (deps: Deps, project: string, group: string, channel: string): Promise<string[]> =>
  listGroupMembers(deps, project, group, async (page) => {
    const members = page.filter((agent) => isChannelMember(agent, channel));
    const heads = await deps.records.getMany(members.map(({ id }) => agentStateRef(project, id)));
    const busy = heads.filter((head) => computeExecutionStatus(head) !== 'idle').map(({ agent }) => agent);
    return members.filter(({ id }) => !busy.includes(id));
  });
