import { isObject, type JsonObject } from '../../kernel/json/json.ts';
import type { TurnTaskLink } from '../../model/tool-call.ts';
import type { TurnProtocol } from '../turn-protocol.ts';
import { fillMissingHeaders, withSender } from './build-headers.ts';
import { buildExtensionHeaders, CONTEXT_HEADER, pickContextHeaders, toLabel, USER_HEADER } from './context-headers.ts';
import { buildTurnPayload } from './encode.ts';
import { encodeTurnEvent, encodeUiAction } from './encode-turn-event.ts';
import { toExtensions } from './extensions.ts';
import { COMMON_GROUND } from './name.ts';
import { resolveTurnVersion } from './versions.ts';

/** Only Parley itself writes it. */
const findTaskLink = ({ commonGround }: JsonObject): TurnTaskLink | undefined =>
  isTaskLink(commonGround) ? commonGround : undefined;

const isTaskLink = (value: unknown): value is TurnTaskLink => isObject(value) && typeof value.channel === 'string';

export const commonGroundTurns: TurnProtocol = {
  dialect: COMMON_GROUND,
  taskCapability: 'common-ground.turn',
  resolveVersion: resolveTurnVersion,
  encodeEvent: encodeTurnEvent,
  encodeUiAction,
  encodeTask: buildTurnPayload,
  toHeaders: buildExtensionHeaders,
  fromHeaders: (headers) => ({ user: toLabel(headers[USER_HEADER]), conversation: toLabel(headers[CONTEXT_HEADER]) }),
  inheritHeaders: pickContextHeaders,
  completeHeaders: (headers, missing, trace, context) =>
    fillMissingHeaders(withSender(headers, missing.sender), missing, trace, context),
  toExtensions,
  findTaskLink,
};
