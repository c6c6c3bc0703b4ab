import { ParleyError } from '../../kernel/errors.ts';
import type { Item, Key, Records, TransactionWrite } from '../../ports/records.ts';
import { listUnscopedCapabilities } from './agent.ts';

/** One record per agent and capability without a domain: one query answers whether there is a provider. */
const capabilityOfferKey = (project: string, capability: string, agent: string): Key => ({
  pk: capabilityOffersPk(project, capability),
  sk: agent,
});
const capabilityOffersPk = (project: string, capability: string): string => `${project}#capability#${capability}`;

export const hasCapabilityProviders = async (
  records: Records,
  project: string,
  capability: string,
): Promise<boolean> => {
  const offers = await records.query<Item>({ pk: capabilityOffersPk(project, capability), limit: 1 });
  return offers.length > 0;
};

export const listProviderIds = async (
  records: Records,
  project: string,
  capability: string,
  limit: number,
  after?: string,
): Promise<string[]> => {
  const offers = await records.query<Item>({ pk: capabilityOffersPk(project, capability), after, limit });
  return offers.map(({ sk }) => sk);
};

/** A DynamoDB transaction takes 100 writes; the agent, its health and a removed name use three, its keys up to ten. */
const MAX_CAPABILITY_WRITES = 87;

export const buildOfferWrites = (
  project: string,
  agent: string,
  before: readonly string[],
  after: readonly string[],
): TransactionWrite[] => {
  const [had, has] = [listUnscopedCapabilities(before), listUnscopedCapabilities(after)];
  const changed: TransactionWrite[] = [
    ...has
      .filter((capability) => !had.includes(capability))
      .map((capability) => ({ kind: 'create' as const, item: { ...capabilityOfferKey(project, capability, agent) } })),
    ...had
      .filter((capability) => !has.includes(capability))
      .map((capability) => ({ kind: 'remove' as const, key: capabilityOfferKey(project, capability, agent) })),
  ];
  if (changed.length <= MAX_CAPABILITY_WRITES) return changed;
  throw new ParleyError(
    'too_large',
    `At most ${MAX_CAPABILITY_WRITES} capabilities without a domain can be registered or given up at once.`,
    { details: { limit: MAX_CAPABILITY_WRITES } },
  );
};
