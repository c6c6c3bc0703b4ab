import { isOn, oneOfMembers } from '../agents/channels.ts';
import { hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import type { Effect } from '../dispatch/effect.ts';
import type { Item, RecordChange } from '../ports/records.ts';
import { relayedEvent } from '../relay/relayed-event.ts';
import { turnEvent } from './events.ts';
import { membersOf } from './group-queues.ts';
import { headRef, stateOf } from './head.ts';
import type { Bell } from './turn-effect.ts';

/** A bell that a message rings: kept, so that it is rung by what follows from the record, like any other. */
interface AskedBell extends Item {
  sk: 'bell';
  bell: Bell;
}

export const isBell = (item: Item): item is AskedBell => item.sk === 'bell';

/** As long as the change of a record may take to be carried out. */
const KEPT_MS = 86_400_000;

export const askToRing = async ({ records, clock, newId }: Deps, bell: Bell): Promise<void> => {
  const key = { pk: `${bell.about.project}#bell#${newId()}`, sk: 'bell' as const };
  await records.create<AskedBell>({ ...key, bell, expires: clock.now() + KEPT_MS }, newId());
};

export const bellEffects = ({ before, after }: RecordChange<AskedBell>): Effect[] =>
  after && !before ? [{ kind: 'turn', effect: { do: 'ring', bell: after.bell } }] : [];

/** Tells an agent that there is something to do. Whoever waits for a lease hears of it anyway. */
export const ring = async (deps: Deps, bell: Bell): Promise<void> => {
  const { cause, at, target, inboxId, reason, about } = bell;
  const agent = bell.isForGroup ? oneOfMembers(await idleAmong(deps, about.project, target, about.channel)) : target;
  if (agent === undefined) return;
  const payload = { agent_id: agent, inbox_id: inboxId, reason };
  const event = turnEvent(cause, 'cmd.agent.wakeup', at, target, payload, about);
  await deps.events.publish([{ ...event, data: { ...event.data, to: agent } }]);
  const worker = hasRelay(deps.config, about.project) ? await deps.directory.agent(about.project, agent) : undefined;
  const onNats = worker?.agent.via === 'nats' ? relayedEvent(event) : undefined;
  if (onNats) await deps.queues.send([onNats]);
};

/** Some of the agents of the group that could take a turn on the channel now. */
export const idleAmong = (deps: Deps, project: string, group: string, channel: string): Promise<string[]> =>
  membersOf(deps, project, group, async (page) => {
    const members = page.filter((agent) => isOn(agent, channel));
    const heads = await deps.records.getMany(members.map(({ id }) => headRef(project, id)));
    const busy = heads.filter((head) => stateOf(head) !== 'idle').map(({ agent }) => agent);
    return members.filter(({ id }) => !busy.includes(id));
  });
