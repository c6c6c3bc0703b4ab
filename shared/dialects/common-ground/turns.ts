import type { TurnProtocol } from '../turn-protocol.ts';
import { buildTurnPayload } from './encode.ts';
import { encodeTurnEvent, encodeUiAction } from './encode-turn-event.ts';
import { findTaskLink, toExtensions } from './extensions.ts';
import {
  buildExtensionHeaders,
  CONTEXT_HEADER,
  fillMissingHeaders,
  pickContextHeaders,
  toLabel,
  USER_HEADER,
  withSender,
} from './headers.ts';
import { COMMON_GROUND } from './name.ts';

export const commonGroundTurns: TurnProtocol = {
  dialect: COMMON_GROUND,
  taskCapability: 'common-ground.turn',
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
