import { a2aDialect } from './a2a/a2a.ts';
import * as inA2a from './a2a/encode.ts';
import { agentOsDialect } from './agent-os/agent-os.ts';
import * as inAgentOs from './agent-os/encode.ts';
import { commonGroundDialect } from './common-ground/common-ground.ts';
import * as inCommonGround from './common-ground/encode.ts';
import * as inV1r4 from './common-ground/encode-v1r4.ts';
import { HEADER_IDENTITY_VERSION } from './common-ground/versions.ts';
import type { Dialect, Encoder } from './dialect.ts';
import * as asCfn from './message-routing/cfn/encode.ts';
import { CFN } from './message-routing/cfn/schema.ts';
import * as inMessageRouting from './message-routing/encode.ts';
import { messageRoutingDialect } from './message-routing/message-routing.ts';
import * as inNative from './native/encode.ts';
import { nativeDialect } from './native/native.ts';
import * as inRoundTable from './round-table/encode.ts';
import * as asKnight from './round-table/knight/encode.ts';
import { KNIGHT } from './round-table/knight/name.ts';
import { roundTableDialect } from './round-table/round-table.ts';
import * as inTaskFormat from './task-format/encode.ts';
import { taskFormatDialect } from './task-format/task-format.ts';

const ENCODERS = new Map<string, Encoder>([
  [commonGroundDialect.name, inCommonGround],
  [messageRoutingDialect.name, inMessageRouting],
  [roundTableDialect.name, inRoundTable],
  [agentOsDialect.name, inAgentOs],
  [nativeDialect.name, inNative],
  [a2aDialect.name, inA2a],
  [taskFormatDialect.name, inTaskFormat],
]);

/** By dialect and profile. A profile that is not here is written as its dialect. */
const PROFILE_ENCODERS = new Map<string, Encoder>([
  [`${commonGroundDialect.name}/${HEADER_IDENTITY_VERSION}`, inV1r4],
  [`${messageRoutingDialect.name}/${CFN}`, asCfn],
  [`${roundTableDialect.name}/${KNIGHT}`, asKnight],
]);

export const getEncoder = ({ name, profile }: Pick<Dialect, 'name' | 'profile'>): Encoder => {
  const encoder = PROFILE_ENCODERS.get(`${name}/${profile}`) ?? ENCODERS.get(name);
  if (encoder) return encoder;
  throw new Error(`The dialect ${name} has no encoder.`);
};
