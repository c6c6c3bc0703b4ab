import { ParleyError } from '../errors.ts';
import type { Item, Key, Records, Write } from '../ports/records.ts';
import { skillsAmong } from './agent.ts';

/** That an agent has a capability which belongs to no domain. One look says whether anybody has it, however many agents there are. */
const offerKey = (project: string, capability: string, agent: string): Key => ({
  pk: offersPk(project, capability),
  sk: agent,
});
const offersPk = (project: string, capability: string): string => `${project}#capability#${capability}`;

export const isOffered = async (records: Records, project: string, capability: string): Promise<boolean> => {
  const offers = await records.query<Item>({ p: offersPk(project, capability), limit: 1 });
  return offers.length > 0;
};

/** Some of those who have the capability, by their ids. */
export const offeredBy = async (
  records: Records,
  project: string,
  capability: string,
  limit: number,
  after?: string,
): Promise<string[]> => {
  const offers = await records.query<Item>({ p: offersPk(project, capability), after, limit });
  return offers.map(({ sk }) => sk);
};

/** A transaction of DynamoDB takes 100 writes, of which the agent and its health are two. */
const MOST_OFFERS = 98;

/** What a registration changes in who offers what, to be written with it. */
export const offersChanged = (
  project: string,
  agent: string,
  before: readonly string[],
  after: readonly string[],
): Write[] => {
  const [had, has] = [skillsAmong(before), skillsAmong(after)];
  const changed: Write[] = [
    ...has
      .filter((capability) => !had.includes(capability))
      .map((capability) => ({ kind: 'create' as const, item: { ...offerKey(project, capability, agent) } })),
    ...had
      .filter((capability) => !has.includes(capability))
      .map((capability) => ({ kind: 'remove' as const, key: offerKey(project, capability, agent) })),
  ];
  if (changed.length <= MOST_OFFERS) return changed;
  throw new ParleyError(
    'too_large',
    `At most ${MOST_OFFERS} capabilities without a domain can be registered or given up at once.`,
    { facts: { limit: MOST_OFFERS } },
  );
};
