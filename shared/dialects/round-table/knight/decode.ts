import type { Config } from '../../../config/config.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { parseOrThrow } from '../../../kernel/json/parse-or-throw.ts';
import type { Command } from '../../../model/command.ts';
import { assertSameMajorVersion } from '../../codec-helpers.ts';
import { MESSAGE_LABEL, toCommand } from '../decode.ts';
import { ROUND_TABLE } from '../name.ts';
import { KnightMessage } from './schema.ts';
import { toDocument } from './to-document.ts';

export const decode = (wire: JsonObject, config: Config, sender: string | undefined): Command => {
  const message = toDocument(wire, sender);
  if (message.version !== undefined) assertSameMajorVersion(message.version, config.dialects[ROUND_TABLE].version);
  return toCommand(parseOrThrow(KnightMessage, message, 'invalid_message', MESSAGE_LABEL));
};
