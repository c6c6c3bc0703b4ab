import { type Duration, toMs } from '../duration.ts';
import { TaskAborted, TaskFailed } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import type { ToolCommand, Turn, TurnMemory } from './turn.ts';
import type { TurnCalls } from './turn-calls.ts';

export interface ToolCall {
  /** The agent or the registered tool that does it. */
  target: string;
  args?: JsonObject;
  /** By default the target. */
  tool?: string;
}

export interface ToolOptions {
  /** After this time the call counts as failed. */
  deadline?: Duration;
}

export interface ForkedCall {
  /** The agent, which does it in a turn of its own. */
  agent: string;
  instruction: string;
}

export interface ForkOptions {
  /** After this time what has not ended counts as failed. */
  deadline?: Duration;
  /** The first failure ends the others. */
  failFast?: boolean;
}

export interface ForkResult<Output = Json> {
  agent: string;
  turnId: string;
  status: string;
  /** What the agent delivered. */
  output?: Output;
  /** Why it delivered nothing, as far as that is known. */
  error?: string;
}

interface ToolReport {
  callId: string;
  status: string;
  cardId: string;
}

interface PreparedCall extends ToolCall {
  /** Of the command; by default that of the tool. */
  topic?: string;
}

interface JoinedTurn {
  agent_id?: string;
  agent_turn_id?: string;
  status: string;
  deliverable_card_id?: string | null;
}

const DEADLINE: Duration = '15m';
const FORK_JOIN = 'fork_join';

/** What a handler can do for its turn while it has it. */
export class TurnContext {
  /** Aborted when the turn is lost, stopped, or suspended until its tools have reported. */
  readonly signal: AbortSignal;
  readonly #calls: TurnCalls;
  readonly #turn: Turn;
  readonly #memory: TurnMemory;
  readonly #reports: ToolReport[];
  readonly #abort: AbortController;
  readonly #uses = new Map<string, number>();
  #chunks = 0;

  constructor(calls: TurnCalls, turn: Turn, memory: TurnMemory, reports: ToolReport[], abort: AbortController) {
    this.#calls = calls;
    this.#turn = turn;
    this.#memory = memory;
    this.#reports = reports;
    this.#abort = abort;
    this.signal = abort.signal;
  }

  /** Streams a piece of output to whoever reads along. */
  async say(content: string, { step = 'answer' }: { step?: string } = {}): Promise<void> {
    this.signal.throwIfAborted();
    const chunk = { step_id: step, chunk_type: 'content', content, index: this.#chunks++ };
    await this.#calls.say(this.#turn.channel, chunk);
  }

  /** Runs a function once in the life of the turn: every later half gets its result back. */
  async step<T>(name: string, run: () => T | Promise<T>, { phase = 'executing' }: { phase?: string } = {}): Promise<T> {
    const key = this.#toKey(name);
    const known = this.#memory[key];
    if (known && 'value' in known) return known.value as T;
    this.signal.throwIfAborted();
    await this.#calls.advance('step', { step_id: toStepId(key), phase });
    const value = ((await run()) ?? null) as Json;
    this.signal.throwIfAborted();
    await this.#calls.remember(key, { value });
    return value as T;
  }

  /**
   * Calls a tool. The turn is suspended until it has reported: then the handler runs again, on any worker, and this call returns the
   * result at once. What comes before it should stand in steps.
   */
  async tool<T = Json>(target: string, args: JsonObject = {}, options: ToolOptions = {}): Promise<T> {
    const [result] = await this.tools([{ target, args }], options);
    return result as T;
  }

  /** Calls several tools beside each other. */
  async tools(calls: ToolCall[], { deadline = DEADLINE }: ToolOptions = {}): Promise<Json[]> {
    const keys = calls.map(({ target, tool = target }) => this.#toKey(`tool ${tool}`));
    const reports = await this.#callAll(calls, keys, deadline);
    return reports.map((report, index) => takeResult(this.#memory[keys[index] ?? '']?.call?.callId ?? '', report));
  }

  /** Calls several agents beside each other, and goes on when all have ended. Results are in the order of the calls. */
  async fork<T = Json>(calls: ForkedCall[], options: ForkOptions = {}): Promise<ForkResult<T>[]> {
    const { deadline = DEADLINE, failFast = false } = options;
    const tasks = calls.map(({ agent, instruction }) => ({
      target_strategy: 'reuse',
      target_ref: agent,
      instruction,
    }));
    const args = { tasks, fail_fast: failFast, deadline_seconds: Math.max(1, toMs(deadline) / 1000) };
    const call = { target: FORK_JOIN, args, topic: `cmd.sys.pmo.internal.${FORK_JOIN}` };
    const [report] = await this.#callAll([call], [this.#toKey(FORK_JOIN)], deadline);
    const joined = (report?.content as { result?: { results?: JoinedTurn[] } } | undefined)?.result?.results;
    if (!joined) return takeResult(FORK_JOIN, report ?? {}) as never;
    return Promise.all(joined.map((one) => this.#readJoined<T>(one)));
  }

  async #readJoined<T>(joined: JoinedTurn): Promise<ForkResult<T>> {
    const { agent_id: agent = '', agent_turn_id: turnId = '', status, deliverable_card_id: card } = joined;
    const content = !card ? undefined : await this.#calls.readCard(card);
    if (status === 'success') return { agent, turnId, status, output: (content ?? null) as T };
    const { error } = (content ?? {}) as { error?: Json };
    return { agent, turnId, status, ...(error !== undefined && { error: String(error) }) };
  }

  /** What all of them have reported. Until then the turn is suspended. */
  async #callAll(calls: PreparedCall[], keys: string[], deadline: Duration): Promise<JsonObject[]> {
    if (keys.every((key) => this.#hasReported(key))) return Promise.all(keys.map((key) => this.#reportOf(key)));
    this.signal.throwIfAborted();
    // A worker that died before it suspended the turn has left its commands.
    const commands = await Promise.all(
      calls.map((call, index) => this.#memory[keys[index] ?? '']?.call ?? this.#prepare(call, keys[index] ?? '')),
    );
    // First wait, then call: what a fast tool says to a turn that does not wait for it would be lost.
    const waiting = commands.map(({ callId }, index) => ({
      tool_call_id: callId,
      step_id: toStepId(keys[index] ?? ''),
    }));
    await this.#calls.advance('suspend', { waiting, deadline_seconds: Math.max(1, toMs(deadline) / 1000) });
    await Promise.all(commands.map((command) => this.#calls.callTool(command, this.#turn.channel)));
    this.#abort.abort(new TaskAborted('suspended', this.#turn.id));
    return new Promise<never>(() => {});
  }

  /** Puts a card into the output of the turn. */
  async card(type: string, content: JsonObject): Promise<string> {
    this.signal.throwIfAborted();
    const id = await this.#calls.createCard(type, content);
    await this.#calls.append('out', id);
    return id;
  }

  async #prepare({ target, args = {}, tool = target, topic }: PreparedCall, key: string): Promise<ToolCommand> {
    const callId = `${this.#turn.id}-${toStepId(key)}`;
    const cardId = await this.#calls.createCard('tool.call', { tool, args, call: callId });
    const call = { target, tool, callId, cardId, ...(topic !== undefined && { topic }) };
    // Whoever finds the turn suspended calls again, if the tool was not called.
    await this.#calls.remember(key, { call });
    return call;
  }

  #hasReported(key: string): boolean {
    const kept = this.#memory[`${key} result`];
    const callId = this.#memory[key]?.call?.callId;
    return (kept && 'value' in kept) || (callId !== undefined && this.#findReport(callId) !== undefined);
  }

  #findReport(callId: string): ToolReport | undefined {
    return this.#reports.find((one) => one.callId === callId);
  }

  async #reportOf(key: string): Promise<JsonObject> {
    const kept = this.#memory[`${key} result`];
    const { callId = '' } = this.#memory[key]?.call ?? {};
    if (kept && 'value' in kept) return kept.value as JsonObject;
    const report = this.#findReport(callId);
    if (!report) throw new TaskFailed(callId, 'failed', 'no_report', 'The tool has not reported.');
    const content = await this.#calls.readCard(report.cardId);
    const value: JsonObject = { status: report.status, content };
    await this.#calls.remember(`${key} result`, { value });
    return value;
  }

  #toKey(name: string): string {
    const uses = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, uses);
    return uses === 1 ? name : `${name} ${uses}`;
  }
}

/** Ids have no spaces. */
const toStepId = (key: string): string => key.replace(/[^!-~]/g, '-').slice(0, 64);

const takeResult = (callId: string, { status, content }: JsonObject): Json => {
  const { result, error } = (content ?? {}) as { result?: Json; error?: Json };
  if (status === 'success') return result === undefined ? (content ?? null) : result;
  throw new TaskFailed(callId, 'failed', String(status), String(error ?? `The tool reported ${String(status)}.`));
};
