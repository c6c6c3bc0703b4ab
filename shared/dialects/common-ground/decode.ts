import type * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { omitNulls } from '../../kernel/json/omit-nulls.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import type { ProtocolMessage } from '../../model/command.ts';
import { parsePayload } from '../codec-helpers.ts';
import {
  assertConsistentHeaders,
  buildSignedContent,
  type CommonGroundHeaders,
  findHeader,
  getSenderHeader,
  omitHeaderLikeKeys,
  parseCallDepth,
  parseDepth,
  parseDepthHeader,
  SIGNATURE_HEADER,
  withDepthAsText,
} from './headers.ts';
import { COMMON_GROUND } from './name.ts';
import {
  ChunkPayload,
  EnqueuePayload,
  StopPayload,
  ToolCommandPayload,
  ToolReportPayload,
  UiActionPayload,
  UserMessagePayload,
  WakeupPayload,
} from './payloads.ts';
import { CommonGroundMessage } from './schema.ts';
import type { Subject } from './subject.ts';
import { hasHeaderIdentity, parseSpokenSubject, readHeaderIdentity, toHeaderIssues } from './versions.ts';

interface DecodedMessage {
  subject: Subject;
  subjectText: string;
  headers: CommonGroundHeaders;
  /** As it was sent, with whatever it says beside what the protocol asks for. */
  rawPayload: JsonObject;
  /** The same without nulls, and with what headers say of whose it is, in versions where they do. */
  content: JsonObject;
}

interface DecodedMessageWithDepth extends DecodedMessage {
  depth?: number;
}

/** What a message orders, with its payload in the shape that its subject asks for. */
export type CommonGroundCommand =
  | (DecodedMessageWithDepth & { do: 'wake'; payload: z.output<typeof WakeupPayload> })
  | (DecodedMessage & { do: 'enqueue'; payload: z.output<typeof EnqueuePayload>; depth?: number | ParleyError })
  | (DecodedMessageWithDepth & { do: 'report'; payload: z.output<typeof ToolReportPayload> })
  | (DecodedMessageWithDepth & { do: 'stop'; payload: z.output<typeof StopPayload> })
  | (DecodedMessageWithDepth & { do: 'callTool'; payload: z.output<typeof ToolCommandPayload> })
  | (DecodedMessageWithDepth & { do: 'callInternal'; payload: z.output<typeof ToolCommandPayload> })
  | (DecodedMessageWithDepth & { do: 'uiAction'; payload: z.output<typeof UiActionPayload> })
  | (DecodedMessageWithDepth & { do: 'tellUser'; payload: z.output<typeof UserMessagePayload> })
  | (DecodedMessage & { do: 'stream'; payload: z.output<typeof ChunkPayload> });

export interface CommonGroundDecoded extends ProtocolMessage {
  command: CommonGroundCommand;
}

export const isCommonGroundMessage = (message: ProtocolMessage): message is CommonGroundDecoded =>
  message.dialect === COMMON_GROUND;

export const decode = (wire: JsonObject, config: Config, sender: string | undefined): CommonGroundDecoded => {
  const message = parseOrThrow(
    CommonGroundMessage,
    withDepthAsText(wire),
    'protocol_violation',
    'The common-ground message',
  );
  const subject = parseSpokenSubject(message.subject, config);
  const { headers, payload: sent } = message;
  // What is only streamed carries no headers, and none are looked at: its subject says whose it is.
  const isStreamed = subject.category === 'str';
  if (!isStreamed) assertConsistentHeaders(headers);
  const command = parseCommand({
    subject,
    subjectText: message.subject,
    headers,
    rawPayload: sent,
    content: omitNulls(sent),
  });
  return {
    kind: 'protocol',
    dialect: COMMON_GROUND,
    messageId: getMessageId(command),
    from: sender ?? (isStreamed ? subject.target : getSenderHeader(headers)) ?? 'admin',
    defaultFrom: isStreamed ? undefined : getDefaultSender(command, config),
    signedContent: isStreamed ? undefined : buildSignedContent(message.subject, headers, sent),
    command,
  };
};

/** The header only informs in the original, whose clients all write the same. What somebody signed is sent by nobody else. */
const getDefaultSender = (command: CommonGroundCommand, config: Config): string | undefined => {
  const { defaultSender } = config.dialects[COMMON_GROUND];
  if (defaultSender === undefined || findHeader(command.headers, SIGNATURE_HEADER) !== undefined) return undefined;
  return command.do === 'callTool' || command.do === 'callInternal' ? command.payload.agent_id : defaultSender;
};

/** By which its sender knows the message. */
const getMessageId = (command: CommonGroundCommand): string => {
  switch (command.do) {
    case 'uiAction':
      return command.payload.message_id ?? command.payload.action_id;
    case 'tellUser':
      return command.payload.message_id ?? computeUserMessageId(command);
    case 'enqueue':
      return command.payload.correlation_id;
    case 'wake':
      return command.payload.agent_id;
    case 'stop':
    case 'stream':
      return command.payload.agent_turn_id;
    default:
      return command.payload.tool_call_id;
  }
};

/** Its time tells two messages with the same words apart. */
const computeUserMessageId = ({ subjectText, headers, rawPayload }: DecodedMessage): string =>
  uuidFromSeed([
    'user-message',
    computeFingerprint([subjectText, rawPayload, String(findHeader(headers, 'cg-timestamp'))]),
  ]);

const parseCommand = (message: DecodedMessage): CommonGroundCommand => {
  const { subject, headers } = message;
  if (subject.category !== 'cmd' || !hasHeaderIdentity(subject)) return toCommonGroundCommand(message);
  const content = { ...message.content, ...readHeaderIdentity(subject, headers, message.content) };
  try {
    return toCommonGroundCommand({ ...message, content });
  } catch (error) {
    throw toHeaderIssues(error);
  }
};

const toCommonGroundCommand = (decoded: DecodedMessage): CommonGroundCommand => {
  const { subject, content } = decoded;
  const kind = `${subject.category}.${subject.component}`;
  if (kind === 'cmd.agent') return toAgentCommand(decoded);
  if (kind === 'cmd.tool') {
    return {
      ...withDepth(decoded),
      do: 'callTool',
      payload: parsePayload(ToolCommandPayload, content, 'The tool command'),
    };
  }
  if (kind === 'cmd.sys' && subject.target === 'pmo' && subject.suffix.startsWith('internal.')) {
    return {
      ...withDepth(decoded),
      do: 'callInternal',
      payload: parsePayload(ToolCommandPayload, content, 'The command'),
    };
  }
  if (kind === 'cmd.sys' && subject.target === 'ui' && subject.suffix === 'action') {
    return {
      ...withDepth(decoded),
      do: 'uiAction',
      payload: parsePayload(UiActionPayload, content, 'The action'),
    };
  }
  if (kind === 'cmd.user') {
    const payload = parsePayload(UserMessagePayload, content, 'The message');
    return { ...withDepth(decoded), do: 'tellUser', payload };
  }
  if (kind === 'str.agent' && subject.suffix === 'chunk') {
    return { ...decoded, do: 'stream', payload: parsePayload(ChunkPayload, content, 'The chunk') };
  }
  if (subject.category === 'evt')
    throw unsupportedSubjectError(
      decoded,
      'Parley itself tells what becomes of turns: /v1/turns says how to advance one',
    );
  throw unsupportedSubjectError(decoded, 'nobody takes messages of this subject');
};

const withDepth = (decoded: DecodedMessage): DecodedMessageWithDepth => ({
  ...decoded,
  depth: parseDepthHeader(decoded.headers),
});

const toAgentCommand = (decoded: DecodedMessage): CommonGroundCommand => {
  const { subject, content, headers } = decoded;
  switch (subject.suffix) {
    case 'wakeup':
      return { ...withDepth(decoded), do: 'wake', payload: parsePayload(WakeupPayload, content, 'The wake-up') };
    case 'turn':
      return {
        ...decoded,
        do: 'enqueue',
        payload: parseEnqueuePayload(decoded),
        depth: parseCallDepth(headers, content.recursion_depth),
      };
    case 'tool_result':
    case 'join_response':
    case 'timeout':
      return {
        ...decoded,
        depth: parseDepth(headers, content.recursion_depth),
        do: 'report',
        payload: parseReportPayload(decoded),
      };
    case 'stop':
      return { ...withDepth(decoded), do: 'stop', payload: parsePayload(StopPayload, content, 'The stop') };
    default:
      throw unsupportedSubjectError(
        decoded,
        'an agent takes wakeup, turn, tool_result, join_response, timeout and stop',
      );
  }
};

/** The subject names the agent and the channel; a payload that does as well must agree. */
const parseEnqueuePayload = ({ subject, rawPayload }: DecodedMessage): z.output<typeof EnqueuePayload> => {
  const payload = parsePayload(
    EnqueuePayload,
    { agent_id: subject.target, channel_id: subject.channel, ...omitHeaderLikeKeys(omitNulls(rawPayload)) },
    'The call',
  );
  if (payload.agent_id === subject.target && payload.channel_id === subject.channel) return payload;
  throw subjectMismatchError('names another agent or channel');
};

/** A `join_response` is the report of whoever joined the work of several for the turn. */
const parseReportPayload = ({ subject: { suffix }, content }: DecodedMessage): z.output<typeof ToolReportPayload> => {
  const type = suffix === 'timeout' ? 'timeout' : 'tool_result';
  const { message_type: said = type } = content;
  const message_type = said === suffix ? type : said;
  const payload = parsePayload(ToolReportPayload, { ...content, message_type }, 'The report');
  if (payload.message_type === type) return payload;
  throw subjectMismatchError('is another kind of report');
};

const subjectMismatchError = (what: string): ParleyError =>
  new ParleyError('protocol_violation', `The payload ${what} than the subject.`, { details: { violated: 'subject' } });

const unsupportedSubjectError = ({ subjectText }: DecodedMessage, why: string): ParleyError =>
  new ParleyError('protocol_violation', `The subject ${subjectText.slice(0, 200)} is not for sending: ${why}.`, {
    details: { violated: 'subject' },
    issues: [{ path: 'subject', message: why }],
  });
