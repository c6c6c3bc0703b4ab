import { toVisibleAsciiId } from '../../kernel/ids.ts';
import { validate } from '../../kernel/json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { decode } from './decode.ts';
import { COMMON_GROUND } from './name.ts';
import { commonGroundNatsBinding } from './nats-binding.ts';
import { CommonGroundMessage } from './schema.ts';
import { PROFILE_VERSIONS } from './versions.ts';

/** The protocol of CommonGround: subjects, headers, and turns that are held by an epoch. */
export const commonGroundDialect: Dialect = {
  name: COMMON_GROUND,
  isAuditedByDefault: false,
  usesTurns: true,
  // A turn holds what it was asked for, and a record holds 400 KB on DynamoDB.
  maxContentBytes: 64 * 1024,
  schema: CommonGroundMessage,
  fieldNames: Object.keys(CommonGroundMessage.shape),
  validate: (message) => validate(CommonGroundMessage, message),
  isRecognized: (message) => message.subject !== undefined,
  decode,
  toAliasId: toVisibleAsciiId,
  natsBinding: commonGroundNatsBinding,
  // Each message names its version: a profile decides only what its agent is told in.
  profiles: Object.fromEntries(PROFILE_VERSIONS.map((version) => [version, { getSender: () => undefined }])),
};
