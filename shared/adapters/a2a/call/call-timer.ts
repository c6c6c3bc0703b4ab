import { buildParts } from '../../../dialects/a2a/content.ts';
import { A2A, decode } from '../../../dialects/a2a/decode.ts';
import { encodeRequest, getContextId } from '../../../dialects/a2a/encode.ts';
import type { RegisteredAgent } from '../../../identity/agents/agent.ts';
import type { Deps } from '../../../identity/deps.ts';
import { isPermanent, ParleyError } from '../../../kernel/errors.ts';
import { uuidFromSeed } from '../../../kernel/ids.ts';
import { computeFingerprint } from '../../../kernel/json/fingerprint.ts';
import { type JsonObject, toJsonObject, toObjectOrEmpty } from '../../../kernel/json/json.ts';
import type { AgentCall } from '../../../model/agent-call.ts';
import type { TaskReport } from '../../../model/command.ts';
import { isAssigned, type Task, taskRef } from '../../../model/task.ts';
import { equals } from '../../../ports/conditions.ts';
import { loadContent } from '../../../storage/content.ts';
import { applyReport } from '../../../tasks/commands/apply-report.ts';
import { renewLease } from '../../../tasks/commands/manage-task.ts';
import { connectToAgent, type RemoteAgent, RemoteError, type RemoteTask, TASK_NOT_FOUND_CODE } from './remote-agent.ts';

/** Longer than the calls of one step: if its process dies, another takes the step again. */
const STEP_LEASE_MS = 60_000;
const FIRST_POLL_MS = 1000;
const LONGEST_POLL_MS = 10_000;
/** An agent that answers a question of nobody. */
const QUESTION_POLL_MS = 60_000;
const RETRY_MS = [1000, 5000, 15_000, 30_000, 60_000, 60_000, 60_000];
/** Before the lease ends by as much, it is renewed. */
const RENEW_BEFORE_MS = 2 * 60_000;

/** One step of the call: send, ask how far it is, or answer. Whoever has moved `due` takes it. */
export const onAgentCallTimer = async (deps: Deps, call: AgentCall): Promise<void> => {
  const change = { if: equals('v', call.v), set: { due: deps.clock.now() + STEP_LEASE_MS } };
  const leased = await deps.records.update<AgentCall>({ pk: call.pk, sk: call.sk }, change, deps.newId());
  if (leased.outcome !== 'written') return;
  const work = (signal?: AbortSignal): Promise<void> => takeStep(deps, leased.after, signal);
  if (deps.background) deps.background(work);
  else await work();
};

const takeStep = async (deps: Deps, call: AgentCall, signal: AbortSignal | undefined): Promise<void> => {
  const { project, taskId } = call;
  const [task, registered] = await Promise.all([
    deps.records.get(taskRef(project, taskId)),
    deps.directory.getAgent(project, call.agent),
  ]);
  const isOurs = task && isAssigned(task) && task.holder === call.agent && task.attempt === call.attempt;
  if (!registered) return await endCall(deps, call);
  try {
    const remote = await connectToAgent(deps, registered.agent, task, signal);
    if (!isOurs) return await abandon(deps, call, remote);
    await advance(deps, { call, task, registered, remote });
  } catch (error) {
    if (signal?.aborted) return;
    if (!isOurs) return await endCall(deps, call);
    await onFailedStep(deps, call, registered, error);
  }
};

interface Step {
  call: AgentCall;
  task: Task;
  registered: RegisteredAgent;
  remote: RemoteAgent;
}

const advance = async (deps: Deps, step: Step): Promise<void> => {
  const { call, task, remote } = step;
  if (call.remoteId === undefined) return await begin(deps, step);
  if (task.status === 'input_required') return await settleStep(deps, call, {}, QUESTION_POLL_MS);
  const answers = task.answerCount ?? 0;
  if (answers > call.answers && task.answer !== undefined) {
    const messageId = uuidFromSeed([A2A, 'answer', task.id, call.attempt, answers]);
    const parts = buildParts(task.answer);
    const taskId = call.remoteId;
    const contextId = getRemoteContext(call);
    await remote.sendMessage({ messageId, taskId, contextId, role: 'ROLE_USER', parts });
    return await settleStep(deps, call, { answers }, FIRST_POLL_MS);
  }
  await report(deps, step, await remote.getTask(call.remoteId));
};

/** Made from the task and its attempt: by it a task is found whose id was lost on the way back. */
const getRemoteContext = ({ taskId, attempt }: AgentCall): string => uuidFromSeed([A2A, 'call', taskId, attempt]);

const begin = async (deps: Deps, step: Step): Promise<void> => {
  const { call, task, remote } = step;
  const contextId = getRemoteContext(call);
  const found = call.isSent ? await remote.findTask(contextId) : undefined;
  if (found) return await report(deps, step, found);
  if (!call.isSent) {
    const change = { if: equals('v', call.v), set: { isSent: true } };
    const marked = await deps.records.update<AgentCall>({ pk: call.pk, sk: call.sk }, change, deps.newId());
    if (marked.outcome !== 'written') return;
    step.call = marked.after;
  }
  const input = await loadContent(deps.blobs, task.project, task.input);
  const { message } = encodeRequest(task, input);
  const { taskId: _ours, ...request } = toObjectOrEmpty(message);
  const metadata = toObjectOrEmpty(request.metadata);
  const parley = { ...toObjectOrEmpty(metadata.parley), taskId: task.id, conversation: getContextId(task) };
  // The same id for the same attempt: a server that knows it does nothing twice.
  const messageId = uuidFromSeed([A2A, 'request', task.id, call.attempt]);
  const answer = await remote.sendMessage({
    ...request,
    messageId,
    contextId,
    metadata: { ...metadata, parley },
  });
  if (answer.task) return await report(deps, step, answer.task);
  const status = { state: 'TASK_STATE_COMPLETED' as const, ...(answer.message && { message: answer.message }) };
  await report(deps, step, { id: messageId, status });
};

const END_STATES: ReadonlySet<string> = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_CANCELED',
]);

/** What it says of its task becomes a report on ours. The same again is none. */
const report = async (deps: Deps, { call, task, registered }: Step, said: RemoteTask): Promise<void> => {
  const { timestamp: _time, ...status } = said.status;
  const { state } = status;
  const fingerprint = computeFingerprint([status, said.artifacts ?? []]);
  const isEnd = END_STATES.has(state);
  if (fingerprint !== call.said && state !== 'TASK_STATE_SUBMITTED') {
    const command = toReport(deps, task, registered, said);
    await applyReport(deps, registered, { ...command, attempt: call.attempt });
  } else await renewIfNeeded(deps, registered, task);
  if (isEnd) return await endCall(deps, call);
  const age = deps.clock.now() - call.startedAt;
  const delay = Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, age / 10));
  await settleStep(deps, call, { remoteId: said.id, said: fingerprint }, delay);
};

const toReport = (deps: Deps, task: Task, { agent }: RegisteredAgent, said: RemoteTask): TaskReport => {
  const { message, state } = said.status;
  const parts = message?.parts?.map(toJsonObject) ?? [];
  const status: JsonObject = { state, ...(parts.length > 0 && { message: { role: 'ROLE_AGENT', parts } }) };
  const artifacts = said.artifacts?.map(toJsonObject);
  const wire: JsonObject = { task: { id: task.id, status, ...(artifacts && { artifacts }) } };
  const command = decode(wire, deps.config, agent.id);
  if (command.kind === 'cancel') {
    // The agent gave up what nobody cancelled.
    const error = { code: 'cancelled_by_agent', message: command.error.message, retryable: false };
    return { ...command, kind: 'fail', error };
  }
  if (command.kind === 'request' || command.kind === 'protocol') throw new Error('a task is a report');
  return command as TaskReport;
};

const renewIfNeeded = async (deps: Deps, registered: RegisteredAgent, task: Task): Promise<void> => {
  if ((task.leaseUntil ?? Infinity) - deps.clock.now() < RENEW_BEFORE_MS)
    await renewLease(deps, registered, task.id, { attempt: task.attempt });
};

/** The task has ended without it, or another has it. */
const abandon = async (deps: Deps, call: AgentCall, remote: RemoteAgent): Promise<void> => {
  const id = call.remoteId ?? (call.isSent ? (await remote.findTask(getRemoteContext(call)))?.id : undefined);
  if (id !== undefined) await remote.cancelTask(id).catch(() => {});
  await endCall(deps, call);
};

const endCall = ({ records }: Deps, { pk, sk }: AgentCall): Promise<void> => records.delete({ pk, sk });

const settleStep = async (deps: Deps, call: AgentCall, set: Partial<AgentCall>, delayMs: number): Promise<void> => {
  const due = deps.clock.now() + delayMs;
  // Whoever wakes it meanwhile has it look again at once.
  const change = { if: equals('v', call.v), set: { ...set, failures: 0, due } };
  const ref = { pk: call.pk, sk: call.sk };
  const written = await deps.records.update<AgentCall>(ref, change, deps.newId());
  if (written.outcome === 'refused' && written.existing)
    await deps.records.update<AgentCall>(ref, { set: { ...set, failures: 0 } }, deps.newId());
};

/** Unreachable for long, or refused: the attempt has failed, and what follows is as with any agent. */
const onFailedStep = async (
  deps: Deps,
  call: AgentCall,
  registered: RegisteredAgent,
  error: unknown,
): Promise<void> => {
  const isLost = error instanceof RemoteError && error.code === TASK_NOT_FOUND_CODE;
  const isRefused = error instanceof RemoteError && !isLost;
  const isOutdated = error instanceof ParleyError && isPermanent(error) && error.code !== 'address_forbidden';
  if (isOutdated && error.code !== 'unreachable') {
    deps.log('warn', 'a report of a called agent was refused', { task: call.taskId, error: error.message });
  }
  const delay = RETRY_MS[call.failures];
  if (!isLost && !isRefused && !isOutdated && delay !== undefined) {
    const change = { set: { failures: call.failures + 1, due: deps.clock.now() + delay } };
    await deps.records.update<AgentCall>({ pk: call.pk, sk: call.sk }, change, deps.newId());
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  const failure = {
    kind: 'fail' as const,
    messageId: uuidFromSeed([A2A, 'call-failed', call.taskId, call.attempt]),
    fingerprint: computeFingerprint([call.taskId, call.attempt, message]),
    from: call.agent,
    taskId: call.taskId,
    attempt: call.attempt,
    error: {
      code: isRefused ? 'refused_by_agent' : 'agent_unreachable',
      message: message.slice(0, 2000),
      retryable: !isRefused,
    },
    extensions: {},
  };
  await applyReport(deps, registered, failure).catch((refusal: unknown) => {
    deps.log('warn', 'the failure of a called agent was refused', { task: call.taskId, error: String(refusal) });
  });
  await endCall(deps, call);
};
