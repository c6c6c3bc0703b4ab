import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { Limits, NotBefore, TimeToLive } from '../codec-helpers.ts';
import { AGENT_OS_ERROR_CODES } from './error-codes.ts';
import { EvidenceChain, NO_EVIDENCE, RequiredEvidence } from './evidence.ts';

/** Any UUID of RFC 9562: the document asks for version 4 and shows others, with `msg-` before them. */
const MESSAGE_ID = /^(?:msg-)?[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const messageId = z.string().regex(MESSAGE_ID, 'must be a UUID, with or without "msg-" before it');
const label = z.string().max(256);

const party = z.looseObject({
  agentId: z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -'),
  instanceId: z.string().min(1).max(128).optional(),
});

const buildPayloadSchema = <T extends z.ZodType>(content: T) =>
  z.looseObject({
    content,
    format: z.enum(['json', 'text', 'markdown']).default('json'),
    language: z.enum(['en', 'ar']).default('en'),
    encoding: z.literal('utf-8').default('utf-8'),
  });

const anyContent = z.custom<Json>((value) => value !== undefined, 'is required').describe('any JSON');

const errorContent = z.looseObject({
  code: z
    .string()
    .min(1)
    .max(128)
    .describe(`${Object.keys(AGENT_OS_ERROR_CODES).join(', ')}, or any other, which is treated as SOURCE_ERROR`),
  message: z.string().max(4000),
  details: z.unknown().optional(),
  recoverable: z.boolean().optional(),
  suggestion: z.string().max(4000).optional(),
});

/** What every message has. Fields that are not named here are carried along. */
const envelope = {
  id: messageId,
  timestamp: z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' }),
  version: z.string().regex(/^\d{1,4}\.\d{1,4}\.\d{1,4}$/, 'must be a version such as 1.0.0'),
  from: party,
  to: party,
  replyTo: messageId.optional().describe('the id of the message that this one answers'),
  context: z
    .looseObject({
      sessionId: label.optional(),
      userId: label.optional(),
      requestId: label.optional(),
      conversationId: label.optional(),
      locale: label.optional(),
      timezone: label.optional(),
    })
    .optional(),
  priority: z.enum(['high', 'normal', 'low']).default('normal'),
  ttl: TimeToLive,
  notBefore: NotBefore,
  limits: Limits,
  retryCount: z.number().int().min(0).max(1000).default(0),
};

const evidence = EvidenceChain.default(NO_EVIDENCE);
const payload = buildPayloadSchema(anyContent);
const commonFields = { ...envelope, evidence, payload };

export const AgentOsMessage = z.discriminatedUnion('type', [
  z.looseObject({ ...commonFields, type: z.literal('query') }),
  z.looseObject({
    ...envelope,
    type: z.literal('response'),
    replyTo: messageId.describe('the id of the query or command'),
    evidence: RequiredEvidence,
    payload,
  }),
  z.looseObject({ ...commonFields, type: z.literal('command') }),
  z.looseObject({ ...commonFields, type: z.literal('event') }),
  z.looseObject({ ...envelope, evidence, type: z.literal('error'), payload: buildPayloadSchema(errorContent) }),
  z.looseObject({ ...commonFields, type: z.literal('validation') }),
  z.looseObject({ ...commonFields, type: z.literal('evidence') }),
  z.looseObject({ ...commonFields, type: z.literal('gap') }),
  z.looseObject({ ...commonFields, type: z.literal('correction') }),
]);
export type AgentOsMessage = z.output<typeof AgentOsMessage>;
export type ErrorContent = z.output<typeof errorContent>;

export const AGENT_OS_TYPES = AgentOsMessage.options.map((option) => option.shape.type.value);

/** For a message that does not say which of them it is, and is to learn what else is wrong with it. */
export const UntypedAgentOsMessage = z.looseObject({ ...commonFields, type: z.enum(AGENT_OS_TYPES) });

export const hasAgentOsType = ({ type }: JsonObject): boolean => AGENT_OS_TYPES.some((known) => known === type);
