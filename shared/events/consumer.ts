import type { Config } from '../config/config.ts';
import type { Caller } from '../identity/auth/authenticate.ts';
import { assertChannelAccess } from '../identity/channels.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import type { Item, Ref } from '../ports/records.ts';

/** A stretch of the log that one instance has in hand. */
export interface InFlightRange {
  id: number;
  /** Rises whenever it is given out again. */
  lease: number;
  /** Places in the log; without a beginning, from the oldest on. */
  from?: string;
  to: string;
  /** Given to another instance after this, in epoch milliseconds. */
  until: number;
}

/** How far a durable consumer is. All its instances share this one record. */
export interface Consumer extends Item {
  sk: 'consumer';
  /** Rises with every rewind: what was given out before it can no longer be acknowledged. */
  generation: number;
  /** Where the next span begins; absent at the oldest event. */
  next?: string;
  /** What was given out and not acknowledged, oldest first. */
  inFlight: InFlightRange[];
  /** The id of the last span that was given out. */
  lastRangeId: number;
}

export type ConsumerConfig = Config['consumers'][string];

export const consumerRef = (project: string, name: string): Ref<Consumer> => ({
  pk: `${project}#consumer#${name}`,
  sk: 'consumer',
});

/** Which consumers the caller may read as. Declaring one is what opens it to the agents that it names. */
export const listConsumers = ({ config }: Deps, caller: Caller): [name: string, ConsumerConfig][] =>
  Object.entries(config.consumers).filter(
    ([, { project, agents }]) =>
      project === caller.project && (caller.role === 'admin' || agents.includes(caller.registered.agent.id)),
  );

export const getConsumerConfig = (deps: Deps, caller: Caller, name: string): ConsumerConfig => {
  const [, declared] = listConsumers(deps, caller).find(([known]) => known === name) ?? [];
  if (declared) {
    // Its instances share one cursor, and so must hear the same.
    if (caller.role !== 'admin') for (const one of declared.channels) assertChannelAccess(caller.registered.agent, one);
    return declared;
  }
  throw new ParleyError(
    'consumer_not_found',
    `There is no consumer ${name.slice(0, 64)} for this key. Consumers are declared in parley.config.ts, with the agents that may use them.`,
  );
};

/** `generation.span.lease`: says what is acknowledged, and whether it is still in the hands of whoever acknowledges it. */
export const formatReceipt = ({ generation }: Pick<Consumer, 'generation'>, { id, lease }: InFlightRange): string =>
  `${generation}.${id}.${lease}`;

export const RECEIPT = /^(\d{1,10})\.(\d{1,15})\.(\d{1,10})$/;
