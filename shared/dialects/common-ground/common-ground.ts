import { toIdWithoutBlanks } from '../../ids.ts';
import { validate } from '../../json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { decode } from './decode.ts';
import { COMMON_GROUND } from './name.ts';
import { commonGroundNatsBinding } from './nats-binding.ts';
import { CommonGroundMessage } from './schema.ts';

/** The protocol of CommonGround: subjects, headers, and turns that are held by an epoch. */
export const commonGroundDialect: Dialect = {
  name: COMMON_GROUND,
  isLogged: false,
  takesTurns: true,
  // A turn holds what it was asked for, and a record holds 400 KB on DynamoDB.
  contentBytes: 64 * 1024,
  schema: CommonGroundMessage,
  keys: Object.keys(CommonGroundMessage.shape),
  complaints: (message) => validate(CommonGroundMessage, message),
  recognises: (message) => message.subject !== undefined,
  decode,
  spoken: toIdWithoutBlanks,
  onNats: commonGroundNatsBinding,
};
