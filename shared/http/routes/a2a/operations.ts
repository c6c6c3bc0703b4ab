import type { KeyScope } from '../../../identity/auth/scopes.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import type { A2aCall } from './call.ts';
import { getAddress, loadCard } from './cards.ts';
import { createPushConfig, deletePushConfig, getPushConfig, listPushConfigs } from './push.ts';
import { answerCancelTask, answerGetTask, answerListTasks, parseTaskId } from './read.ts';
import { sendMessage } from './send.ts';
import { type StreamPiece, streamMessage, subscribeToTask } from './stream.ts';

type Unary = (call: A2aCall, params: JsonObject) => Promise<JsonObject>;
type Streaming = (call: A2aCall, params: JsonObject) => Promise<AsyncIterable<StreamPiece>>;

const getExtendedAgentCard: Unary = ({ deps, caller, request, agent }) =>
  loadCard(deps, caller.project, getAddress(deps, request), agent, true);

/** By the names of the JSON-RPC methods. */
export const UNARY_OPERATIONS = {
  SendMessage: sendMessage,
  GetTask: answerGetTask,
  ListTasks: answerListTasks,
  CancelTask: answerCancelTask,
  CreateTaskPushNotificationConfig: createPushConfig,
  GetTaskPushNotificationConfig: getPushConfig,
  ListTaskPushNotificationConfigs: listPushConfigs,
  DeleteTaskPushNotificationConfig: deletePushConfig,
  GetExtendedAgentCard: getExtendedAgentCard,
} as const satisfies Record<string, Unary>;
export type UnaryOperation = keyof typeof UNARY_OPERATIONS;

export const STREAMING_OPERATIONS = {
  SendStreamingMessage: streamMessage,
  SubscribeToTask: (call, params) => subscribeToTask(call, parseTaskId(params)),
} as const satisfies Record<string, Streaming>;
export type StreamingOperation = keyof typeof STREAMING_OPERATIONS;

export const isUnary = (name: string): name is UnaryOperation => Object.hasOwn(UNARY_OPERATIONS, name);
export const isStreaming = (name: string): name is StreamingOperation => Object.hasOwn(STREAMING_OPERATIONS, name);

/** Reading needs less. */
export const getNeededScope = (name: UnaryOperation | StreamingOperation): KeyScope =>
  /^(Get|List|Subscribe)/.test(name) ? 'read' : 'agent';
