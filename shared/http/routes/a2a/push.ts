import * as z from 'zod';
import { A2A } from '../../../dialects/a2a/decode.ts';
import { getContextId } from '../../../dialects/a2a/encode.ts';
import { A2aId } from '../../../dialects/a2a/schema.ts';
import type { Deps } from '../../../identity/deps.ts';
import { ParleyError } from '../../../kernel/errors.ts';
import { uuidFromSeed } from '../../../kernel/ids.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { parseOrThrow } from '../../../kernel/json/parse-or-throw.ts';
import { DAY_MS } from '../../../kernel/retention.ts';
import { isOpen, type Task, taskRef } from '../../../model/task.ts';
import { type PushConfig, pushConfigPk, pushConfigRef } from '../../../model/webhook.ts';
import { notExists } from '../../../ports/conditions.ts';
import { MAX_PUSH_CONFIGS } from '../../../webhooks/outbox.ts';
import { type A2aCall, findTask } from './call.ts';
import { A2aError } from './errors.ts';

/** The longest that a task may wait, and then some for the last notifications. */
const CONFIG_MS = 30 * DAY_MS;

const printable = z.string().regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');

/** Empty fields are as absent: some clients send all of them. */
const emptyAsAbsent = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const PushRequest = z.object({
  id: emptyAsAbsent(A2aId),
  url: z.string().min(1).max(2048),
  token: emptyAsAbsent(printable.max(1024)),
  authentication: z
    .object({ scheme: printable.min(1).max(64), credentials: emptyAsAbsent(printable.max(4096)) })
    .optional(),
});

const ConfigRequest = z.object({ taskId: A2aId, id: A2aId });
const TaskRequest = z.object({ taskId: A2aId });

type PushedTask = Pick<Task, 'project' | 'id' | 'from' | 'conversation'>;

/** The same again changes nothing. */
const putPushConfig = async (deps: Deps, task: PushedTask, wire: JsonObject): Promise<PushConfig> => {
  const { id: given, token, ...asked } = parseOrThrow(PushRequest, wire, 'invalid_request', 'The push configuration');
  deps.httpSender.assertAllowed(asked.url);
  const { project, id: taskId, from } = task;
  const id = given ?? uuidFromSeed([A2A, 'push', taskId, asked.url]);
  const others = await listConfigs(deps, project, taskId);
  if (others.length >= MAX_PUSH_CONFIGS && !others.some((other) => other.id === id))
    throw new A2aError('UNSUPPORTED_OPERATION', `A task has ${MAX_PUSH_CONFIGS} push configurations at most.`);
  const now = deps.clock.now();
  const fields = {
    ...asked,
    notificationToken: token,
    secret: token,
    contextId: getContextId(task),
    from,
    createdAt: now,
  };
  const ref = pushConfigRef(project, taskId, id);
  const set = { project, id, taskId, ...fields, expires: now + CONFIG_MS };
  const unset = (['notificationToken', 'secret', 'authentication'] as const).filter(
    (field) => fields[field] === undefined,
  );
  const written = await deps.records.update<PushConfig>(ref, { set, unset }, deps.newId(), 'orCreate');
  if (written.outcome === 'written') return written.after;
  throw new ParleyError('conflict', 'The push configuration is being changed. Try again.');
};

/** Before the task, so that none of its changes is missed. */
export const withPushConfig = async (
  deps: Deps,
  project: string,
  { taskId, from, conversation }: { taskId: string; from: string; conversation?: string | undefined },
  wire: JsonObject,
  create: () => Promise<unknown>,
): Promise<string> => {
  const config = await putPushConfig(deps, { project, id: taskId, from, ...(conversation && { conversation }) }, wire);
  try {
    await create();
  } catch (error) {
    // One that was there before belongs to the task that was.
    if (config.v === 1) await deps.records.delete({ pk: config.pk, sk: config.sk });
    throw error;
  }
  return taskId;
};

const listConfigs = ({ records }: Deps, project: string, taskId: string): Promise<PushConfig[]> =>
  records.query<PushConfig>({ pk: pushConfigPk(project, taskId), prefix: 'push-config#', limit: MAX_PUSH_CONFIGS });

/** Without what proves to the receiver who sends. */
const toView = ({ id, taskId, url, authentication }: PushConfig): JsonObject => ({
  id,
  taskId,
  url,
  authentication: authentication && { scheme: authentication.scheme },
});

/** Only whoever asked for the task is told of it. */
const findOwnTask = async (call: A2aCall, taskId: string): Promise<Task> => {
  const { task } = await findTask(call, taskId);
  const { caller } = call;
  if (caller.role === 'agent' && caller.registered.agent.id !== task.from)
    throw new A2aError('TASK_NOT_FOUND', `There is no task ${taskId}.`, { taskId });
  if (task.dialect !== A2A)
    throw new A2aError('PUSH_NOTIFICATION_NOT_SUPPORTED', `The task ${taskId} was not asked for over A2A.`);
  return task;
};

export const createPushConfig = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { taskId } = parseOrThrow(TaskRequest, params, 'invalid_request', 'The request');
  const task = await findOwnTask(call, taskId);
  if (!isOpen(task)) throw new A2aError('UNSUPPORTED_OPERATION', `The task ${taskId} has ended.`, { taskId });
  return toView(await addPushConfig(call.deps, task, params));
};

/** Of a task that there is: from now on, its changes are pushed. */
export const addPushConfig = async (deps: Deps, task: Task, wire: JsonObject): Promise<PushConfig> => {
  const config = await putPushConfig(deps, task, wire);
  if (!task.hasPush) {
    const change = { if: notExists('endedAt'), set: { hasPush: true } };
    await deps.records.update(taskRef(task.project, task.id), change, deps.newId());
  }
  return config;
};

export const listPushConfigs = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { taskId } = parseOrThrow(TaskRequest, params, 'invalid_request', 'The request');
  const { project } = await findOwnTask(call, taskId);
  return { configs: (await listConfigs(call.deps, project, taskId)).map(toView), nextPageToken: '' };
};

export const getPushConfig = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { taskId, id } = parseOrThrow(ConfigRequest, params, 'invalid_request', 'The request');
  const { project } = await findOwnTask(call, taskId);
  const config = await call.deps.records.get(pushConfigRef(project, taskId, id));
  if (config) return toView(config);
  throw new A2aError('TASK_NOT_FOUND', `The task ${taskId} has no push configuration ${id}.`, { taskId });
};

export const deletePushConfig = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { taskId, id } = parseOrThrow(ConfigRequest, params, 'invalid_request', 'The request');
  const { project } = await findOwnTask(call, taskId);
  const { pk, sk } = pushConfigRef(project, taskId, id);
  await call.deps.records.delete({ pk, sk });
  return {};
};
