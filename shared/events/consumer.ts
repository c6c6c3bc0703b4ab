import type { Config } from '../config/config.ts';
import type { Caller } from '../identity/auth/authenticate.ts';
import { assertChannelAccess } from '../identity/channels.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import type { Item, Ref } from '../ports/records.ts';

export interface InFlightRange {
  id: number;
  /** Rises each time the range is given out again. */
  lease: number;
  /** Log positions; without `from`, the oldest. */
  from?: string;
  to: string;
  /** Epoch milliseconds. */
  until: number;
}

/** One record shared by all instances of the consumer. */
export interface Consumer extends Item {
  sk: 'consumer';
  /** Rises with each seek; older receipts become invalid. */
  generation: number;
  /** Absent at the oldest event. */
  next?: string;
  /** Oldest first. */
  inFlight: InFlightRange[];
  lastRangeId: number;
}

export type ConsumerConfig = Config['consumers'][string];

export const consumerRef = (project: string, name: string): Ref<Consumer> => ({
  pk: `${project}#consumer#${name}`,
  sk: 'consumer',
});

export const listConsumers = ({ config }: Deps, caller: Caller): [name: string, ConsumerConfig][] =>
  Object.entries(config.consumers).filter(
    ([, { project, agents }]) =>
      project === caller.project && (caller.role === 'admin' || agents.includes(caller.registered.agent.id)),
  );

export const getConsumerConfig = (deps: Deps, caller: Caller, name: string): ConsumerConfig => {
  const [, declared] = listConsumers(deps, caller).find(([known]) => known === name) ?? [];
  if (declared) {
    // Instances share one cursor, so all must have the same channels.
    if (caller.role !== 'admin') for (const one of declared.channels) assertChannelAccess(caller.registered.agent, one);
    return declared;
  }
  throw new ParleyError(
    'consumer_not_found',
    `There is no consumer ${name.slice(0, 64)} for this key. Consumers are declared in parley.config.ts, with the agents that may use them.`,
  );
};

/** `generation.range.lease`. */
export const formatReceipt = ({ generation }: Pick<Consumer, 'generation'>, { id, lease }: InFlightRange): string =>
  `${generation}.${id}.${lease}`;

export const RECEIPT = /^(\d{1,10})\.(\d{1,15})\.(\d{1,10})$/;
