import { withoutBlanks } from '../../ids.ts';
import { complaints } from '../../json/checked.ts';
import type { Dialect } from '../dialect.ts';
import { decode } from './decode.ts';
import { COMMON_GROUND } from './name.ts';
import { onNats } from './on-nats.ts';
import { CommonGroundMessage } from './schema.ts';

/** The protocol of CommonGround: subjects, headers, and turns that are held by an epoch. */
export const commonGround: Dialect = {
  name: COMMON_GROUND,
  isLogged: false,
  takesTurns: true,
  // A turn holds what it was asked for, and a record holds 400 KB on DynamoDB.
  contentBytes: 64 * 1024,
  schema: CommonGroundMessage,
  keys: Object.keys(CommonGroundMessage.shape),
  complaints: (message) => complaints(CommonGroundMessage, message),
  recognises: (message) => message.subject !== undefined,
  decode,
  spoken: withoutBlanks,
  onNats,
};
