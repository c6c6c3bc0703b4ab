import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { ParleyError } from '../kernel/errors.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { NatsEnvelope, NatsMessage } from '../nats/nats-message.ts';
import type { StreamSpec, SubscriptionSpec, UnreadSource } from '../nats/relay-plan.ts';

/** Whose subjects are meant. */
export interface NatsSite {
  project: string;
  config: Config;
}

/** What a message is about, beside what it says itself. */
export interface NatsContext extends NatsSite {
  /** The domain of the task. */
  domain?: string;
  /** It is for those who listen where messages to all stand, or for one of them. */
  isPartialAudience?: boolean;
}

type AddressedMessage = Pick<NatsMessage, 'subject' | 'headers' | 'payload' | 'core'>;

/** Where messages stand on NATS. */
export interface NatsChannel {
  /** With parameters in braces. */
  address: string;
  summary: string;
  /** What Parley does there. */
  actions: readonly ('send' | 'receive')[];
  /** What Parley says there in its own name, in place of messages of the dialect. */
  isNotice?: true;
}

/** What a dialect is on NATS, for whoever reads of it. */
export interface NatsDescription {
  channels: Record<string, NatsChannel>;
  /** Its message, where NATS carries it in parts: it then says too little on any other subject. */
  parts?: { headers: z.ZodType; payload: z.ZodType };
}

export interface RefusalContext extends NatsSite {
  now: number;
  hasTask(id: string): Promise<boolean>;
}

/** How a dialect travels on NATS where its messages have subjects of their own. */
export interface NatsBinding {
  listStreams(about: NatsSite): StreamSpec[];
  /** Loaded only where it is asked for: no message needs it. */
  loadAsyncApiChannels(config: Config): Promise<NatsDescription>;
  listSources(about: NatsSite): SubscriptionSpec[];
  /** What the relay brings from a workqueue where nobody reads it, so that somebody answers. */
  listUnreadSources?(about: NatsSite): UnreadSource[];
  /** Its subjects name domains: it is what on-prem agents are told in of a task that is for whoever serves its domain. */
  hasDomainSubjects?: true;
  /** Whether its agents lease a task that carries this over HTTPS. */
  usesLease?(extensions: JsonObject): boolean;
  /**
   * Whether a request stands on its subject for all who listen there, and must not be said again for the same attempt; and whether
   * its sender said it there.
   */
  getPublishedState?(extensions: JsonObject): { isHeard: boolean } | undefined;
  /** Which part of a turn the task is that carries this: the turn tells how it ended, and nobody else. */
  getTurnRole?(extensions: JsonObject): 'call' | 'turn' | undefined;
  /** What a task belongs to that its messages say in headers of their own. */
  says?: readonly ('conversation' | 'user' | 'graph')[];
  /** Where a message in the dialect goes; undefined for the inbox of its recipient. */
  toNats(message: JsonObject, about: NatsContext): AddressedMessage | undefined;
  /** Whether what arrives on the subject is of this dialect. */
  matchesSubject(subject: string, about: NatsSite): boolean;
  /** The message as `decode` takes it. Throws `invalid_params` where the subject says something else. */
  fromNats(arrival: NatsEnvelope, message: JsonObject, about: NatsSite): JsonObject;
  /**
   * Whether a message that was refused for good is part of what agents on NATS do among themselves: it asks Parley for nothing, and
   * is about none of its tasks.
   */
  isUnrelated?(
    arrival: NatsEnvelope,
    message: JsonObject,
    refusal: ParleyError,
    about: RefusalContext,
  ): Promise<boolean>;
  /** What the sender of a refused message is told. */
  buildRejectionNotice?(
    arrival: NatsEnvelope,
    message: JsonObject,
    refusal: ParleyError,
    about: RefusalContext,
  ): Promise<NatsMessage | undefined>;
  /** That an agent of the dialect came or fell silent. */
  buildPresenceMessage?(agent: string, isOnline: boolean, at: number, about: NatsSite): AddressedMessage;
}
