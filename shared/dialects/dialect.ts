import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { CapabilitySchemas, InboxMode } from '../identity/agents/agent.ts';
import type { Issue, ParleyError } from '../kernel/errors.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { Command, DirectMessageCommand } from '../model/command.ts';
import type { TaskOutcome } from '../model/delivery.ts';
import type { DirectMessage } from '../model/direct-message.ts';
import type { ReportedTask, Task } from '../model/task.ts';
import type { ListingFields } from '../model/task-listing.ts';
import type { NatsBinding, NatsSite } from './nats-binding.ts';

/** One protocol: how its messages become commands. */
export interface Dialect {
  name: string;
  /** Set where it is spoken as existing software does. */
  profile?: string;
  /** By the names that registrations give. */
  profiles?: Readonly<Record<string, DialectProfile>>;
  /** Fields that its signatures do not cover, beside `signature` itself. */
  unsignedFields?: readonly string[];
  /** Who a message says sent it: its profile is then found also where the call has another's key. `from` by default. */
  getSender?(message: JsonObject, site: NatsSite): string | undefined;
  /** Whether its messages are logged where the configuration does not say. */
  isAuditedByDefault: boolean;
  /** Whether what is not valid is written to the log of the system. */
  logsRejections?: true;
  /** Its messages speak of tasks by eight digits, so that what these mean must be on record. */
  usesShortIds?: true;
  /** The eight digits that an id of another form stands for, where its messages may have such. */
  toShortId?(id: string): string | undefined;
  /** Content of more bytes is given to its agents as a card, unless it came in the dialect itself, which has its own limit. */
  maxContentBytes?: number;
  /** Whom a message that is not valid names, as far as that can be read, and what else the audit log says of it. */
  describeForAudit?(message: JsonObject): { to?: string; [fact: string]: Json | undefined };
  /** What a whole message of it may have. */
  getMaxMessageBytes?(config: Config): number;
  /** Its agents answer a question by a reply to the message that asks it. */
  answersByReply?: true;
  /** What its clients list tasks by, in the order of their changes; absent where they do not. */
  describeForListing?(task: Task): ListingFields;
  /**
   * The extensions of a task that repeats another. Present where a task that has ended never changes, so that a retry makes a
   * new one.
   */
  referToTask?(extensions: JsonObject, taskId: string): JsonObject;
  /** Its agents may be called, instead of calling. */
  callsAgents?: true;
  /** Its agents are given turns, which they lease, and no tasks. */
  usesTurns?: true;
  /** How long its messages take to be written and read is measured, and told where it takes longer than this. */
  latencyAlerts?: { writeMs: number; readMs: number };
  /** What reaches the inboxes of its agents, where their registration does not say. */
  inbox?: InboxMode;
  /** How many messages wait in an inbox of its agents at most, where their registration does not say. */
  getInboxLimit?(config: Config): number;
  /** Every message of the dialect. */
  schema: z.ZodType;
  /** What its document calls the file of that schema. */
  schemaFile?: string;
  /** The fields that its messages may have. */
  fieldNames: readonly string[];
  /** What their `type` may be, where that is a closed list. */
  types?: readonly string[];
  /** Everything that is wrong with a message that is meant to be of this dialect. */
  validate(message: JsonObject): Issue[];
  /** Whether a message has this dialect's shape. The first dialect that says so decodes it. */
  isRecognized(message: JsonObject): boolean;
  /** The same whatever fields it has beside, for a message that no dialect recognises. */
  isRecognizedWithExtraFields?(message: JsonObject): boolean;
  /**
   * What a message calls itself, and then the task that it is about and the parent of the one it asks for: of several in one call,
   * those that share a name are carried out in their order.
   */
  listCorrelationIds?(message: JsonObject): (Json | undefined)[];
  /** What the task that it asks for waits for: whatever of it is in the same call comes first. */
  listDependencyIds?(message: JsonObject): Json[];
  /**
   * `sender` is the agent whose key brought the message, for dialects that need not name it. Throws `invalid_message`, `unknown_type` or `unsupported_version`, with everything
   * that is wrong at once.
   */
  decode(message: JsonObject, config: Config, sender: string | undefined): Command;
  /** A message without what its sender stamps anew when it repeats it; absent where the time is a part of its identity. */
  omitStamps?(message: JsonObject): JsonObject;
  /** By which id its agents are told a task, where they cannot say every id; it then becomes an alias of the task. */
  toAliasId?(taskId: string): string;
  /** A refusal in the dialect's own words, to stand beside the problem. */
  toProtocolError?(refusal: ParleyError): JsonObject;
  /** Absent where its messages on NATS go to the inboxes of agents. */
  natsBinding?: NatsBinding;
  /** The agents that a manifest file of the dialect lists; absent where it has no such files. */
  parseManifest?(file: JsonObject): ManifestAgent[];
  /** Whether a file has the shape of such a manifest. */
  isManifest?(file: JsonObject): boolean;
}

/** A dialect as existing software speaks it, for agents that are registered with it: whatever stands here replaces the dialect's own. */
export type DialectProfile = Partial<Omit<Dialect, 'name' | 'profile' | 'profiles'>>;

/** How tasks, outcomes and notes become messages of a dialect. Apart from it, because who only takes messages in does without. */
export interface Encoder {
  /** The task as a request to whoever claimed it, with what those brought that it waited for. */
  encodeRequest(task: Task, input: Json, results?: JsonObject): JsonObject;
  /** What the holder of an open task said last. */
  encodeReport(task: ReportedTask): JsonObject;
  /**
   * How a task ended, what its holder asks or what it was answered, for the one who must know. `deliverable` is the card of the
   * output, where the task is a turn.
   */
  encodeOutcome(
    outcome: TaskOutcome,
    output: Json | undefined,
    artifacts: JsonObject[] | undefined,
    deliverable?: string,
  ): JsonObject;
  /** A message that is no task, for its recipient. */
  encodeDirectMessage(directMessage: DirectMessage, content: Json): JsonObject;
  /** A message to all agents, for everybody who listens on NATS; undefined where the dialect has no such message. */
  encodeBroadcast?(command: DirectMessageCommand, at: number): JsonObject | undefined;
}

/** One call registers so many at most. */
export const MAX_MANIFEST_AGENTS = 100;

export interface ManifestAgent {
  id: string;
  capabilities?: string[];
  /** Of its capabilities, where the file has such. */
  schemas?: Record<string, CapabilitySchemas>;
  /** What the file says of it, to be kept and shown. */
  manifest?: JsonObject;
  /** The file names it and says nothing of it: it is registered only where it is not. */
  isMentioned?: true;
}
