import { agentOsDialect } from './agent-os/agent-os.ts';
import * as inAgentOs from './agent-os/encode.ts';
import { commonGroundDialect } from './common-ground/common-ground.ts';
import * as inCommonGround from './common-ground/encode.ts';
import type { Dialect, Encoder } from './dialect.ts';
import * as inMessageRouting from './message-routing/encode.ts';
import { messageRoutingDialect } from './message-routing/message-routing.ts';
import * as inRoundTable from './round-table/encode.ts';
import { roundTableDialect } from './round-table/round-table.ts';
import * as inTaskFormat from './task-format/encode.ts';
import { taskFormatDialect } from './task-format/task-format.ts';

const ENCODERS = new Map<string, Encoder>([
  [commonGroundDialect.name, inCommonGround],
  [messageRoutingDialect.name, inMessageRouting],
  [roundTableDialect.name, inRoundTable],
  [agentOsDialect.name, inAgentOs],
  [taskFormatDialect.name, inTaskFormat],
]);

export const getEncoder = ({ name }: Pick<Dialect, 'name'>): Encoder => {
  const encoder = ENCODERS.get(name);
  if (encoder) return encoder;
  throw new Error(`The dialect ${name} has no encoder.`);
};
