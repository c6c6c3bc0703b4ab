import { agentOs } from './agent-os/agent-os.ts';
import * as inAgentOs from './agent-os/encode.ts';
import { commonGround } from './common-ground/common-ground.ts';
import * as inCommonGround from './common-ground/encode.ts';
import type { Dialect, Encoder } from './dialect.ts';
import * as inMessageRouting from './message-routing/encode.ts';
import { messageRouting } from './message-routing/message-routing.ts';
import * as inRoundTable from './round-table/encode.ts';
import { roundTable } from './round-table/round-table.ts';
import * as inTaskFormat from './task-format/encode.ts';
import { taskFormat } from './task-format/task-format.ts';

const ENCODERS = new Map<string, Encoder>([
  [commonGround.name, inCommonGround],
  [messageRouting.name, inMessageRouting],
  [roundTable.name, inRoundTable],
  [agentOs.name, inAgentOs],
  [taskFormat.name, inTaskFormat],
]);

export const encoderOf = ({ name }: Pick<Dialect, 'name'>): Encoder => {
  const encoder = ENCODERS.get(name);
  if (encoder) return encoder;
  throw new Error(`The dialect ${name} has no encoder.`);
};
