import { type Duration, toMs } from '../duration.ts';
import { Emitter } from '../emitter.ts';
import { Fail, ParleyError, TaskAborted } from '../errors.ts';
import { toFailure } from '../failure.ts';
import type { Json, JsonObject } from '../json.ts';
import { catchSignals } from '../process-signals.ts';
import { readEvents } from '../sse.ts';
import { isPassing, sleep, type Transport } from '../transport.ts';
import type { LeasedTurn, Turn, TurnView } from './turn.ts';
import { type TurnAgent, TurnCalls } from './turn-calls.ts';
import { TurnContext } from './turn-context.ts';

export type TurnHandler<Payload = JsonObject> = (turn: Turn<Payload>, context: TurnContext) => unknown;

export interface TurnWorkerOptions {
  /** A process that comes back under the same name goes on with the turn that it had. */
  instance?: string;
  /** How long a running handler has to end when the worker stops. */
  drain?: Duration;
}

export interface TurnEvents {
  leased: Turn;
  delivered: { turn: Turn; status: 'success' | 'failed' };
  aborted: { turn: Turn; reason: TaskAborted['reason'] };
  error: Error;
}

const WAIT_SECONDS = 20;
/** The server ends a turn after five minutes without a word. */
const HEARTBEAT_MS = 60_000;
const WATCH_AFTER_MS = 1000;
const LOST_CODES = ['stale_turn', 'not_running', 'turn_not_found'];

/** Leases the turns of an agent, one at a time, and runs the handler for each. */
export class TurnWorker<Payload = JsonObject> extends Emitter<TurnEvents> {
  readonly #transport: Transport;
  readonly #of: TurnAgent;
  readonly #handler: TurnHandler<Payload>;
  readonly #leaseId: string;
  readonly #drainMs: number;
  readonly #leasing = new AbortController();
  #current: { abort: AbortController; done: Promise<void> } | undefined;
  #rejection: unknown;

  constructor(
    transport: Transport,
    of: TurnAgent,
    handler: TurnHandler<Payload>,
    { instance = crypto.randomUUID(), drain = '30s' }: TurnWorkerOptions = {},
  ) {
    super();
    this.#transport = transport;
    this.#of = of;
    this.#handler = handler;
    this.#leaseId = instance;
    this.#drainMs = toMs(drain);
  }

  /** Works until `stop`, or until SIGINT or SIGTERM. */
  async run({ signals = true }: { signals?: boolean } = {}): Promise<void> {
    const release = signals ? catchSignals(() => void this.stop()) : undefined;
    try {
      while (!this.#leasing.signal.aborted) await this.#next();
    } finally {
      release?.();
    }
    await this.#current?.done;
    if (this.#rejection) throw this.#rejection;
  }

  /** Leases no more, and lets the handler end for as long as `drain` says. */
  async stop(): Promise<void> {
    this.#leasing.abort();
    const { done, abort } = this.#current ?? {};
    const hasEnded = new AbortController();
    await Promise.race([done, sleep(this.#drainMs, hasEnded.signal).catch(() => {})]);
    hasEnded.abort();
    abort?.abort(new TaskAborted('stopping', 'the turn'));
  }

  async #next(): Promise<void> {
    const { signal } = this.#leasing;
    try {
      await this.#callToolsAgain();
      const body = { wait: WAIT_SECONDS, lease_id: this.#leaseId };
      const leased = await this.#transport.call<LeasedTurn | undefined>('POST', '/v1/turns/lease', {
        body,
        signal,
        waitMs: WAIT_SECONDS * 1000,
      });
      if (leased) await this.#work(leased);
    } catch (error) {
      if (signal.aborted) return;
      this.emit('error', error as Error);
      if (isPassing(error)) {
        await sleep(1000, signal).catch(() => {});
        return;
      }
      this.#rejection = error;
      this.#leasing.abort();
    }
  }

  /** A worker that died after it had suspended its turn may not have called the tools. To call them again does no harm. */
  async #callToolsAgain(): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(this.#of.agent)}/head`;
    const head = await this.#transport.call<{ status: string; active_agent_turn_id?: string }>('GET', path);
    if (head.status !== 'suspended' || head.active_agent_turn_id === undefined) return;
    const calls = new TurnCalls(this.#transport, this.#of, head.active_agent_turn_id, 0);
    const turn = await calls.view();
    const waiting = new Set(
      turn.waiting?.filter(({ status }) => status === 'waiting').map(({ tool_call_id }) => tool_call_id),
    );
    if (waiting.size === 0) return;
    const now = new TurnCalls(this.#transport, this.#of, head.active_agent_turn_id, turn.turn_epoch);
    for (const { call } of Object.values(await now.recall())) {
      if (!call || !waiting.has(call.callId)) continue;
      await now.callTool(call, turn.channel_id ?? 'public').catch((error) => {
        // It has been called, or the turn is over.
        if (!(error instanceof ParleyError) || isPassing(error)) throw error;
      });
    }
  }

  async #work(leased: LeasedTurn): Promise<void> {
    const calls = new TurnCalls(this.#transport, this.#of, leased.agent_turn_id, leased.turn_epoch);
    const abort = new AbortController();
    const done = this.#handle(leased, calls, abort);
    this.#current = { abort, done };
    await done;
    this.#current = undefined;
  }

  async #handle({ inbox }: LeasedTurn, calls: TurnCalls, abort: AbortController): Promise<void> {
    let turn: Turn | undefined;
    const watching = new AbortController();
    const watch = setTimeout(() => this.#watch(calls, abort, watching.signal), WATCH_AFTER_MS);
    const heartbeat = setInterval(() => this.#beat(calls, abort), HEARTBEAT_MS);
    try {
      const isFirst = inbox.some(({ message_type }) => message_type === 'turn');
      if (isFirst) await calls.advance('start');
      const [view, memory] = await Promise.all([calls.view(), calls.recall()]);
      turn = toTurn(view, calls);
      this.emit('leased', turn);
      const reports = inbox.map(({ tool_call_id = '', status = '', tool_result_card_id = '' }) => ({
        callId: tool_call_id,
        status,
        cardId: tool_result_card_id,
      }));
      const context = new TurnContext(calls, turn, memory, reports, abort);
      const aborted = new Promise<never>((_, reject) => {
        abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
      });
      const end = await Promise.race([this.#runHandler(turn, context, abort), aborted]);
      await this.#deliver(calls, end);
      this.emit('delivered', { turn, status: end.status });
    } catch (error) {
      this.#handleLoss(turn, error);
    } finally {
      clearInterval(heartbeat);
      clearTimeout(watch);
      watching.abort();
    }
  }

  /** Whoever works longer is told at once that the turn has ended without it. */
  async #watch(calls: TurnCalls, abort: AbortController, signal: AbortSignal): Promise<void> {
    const query = { type: 'evt.agent.task' };
    const onOpen = (): void => void this.#beat(calls, abort);
    try {
      for await (const { data } of readEvents(this.#transport, '/v1/events', { query, signal, onOpen })) {
        if (JSON.stringify(data).includes(`"${calls.turnId}"`)) abort.abort(new TaskAborted('lost', calls.turnId));
      }
    } catch (error) {
      if (!signal.aborted) this.emit('error', error as Error);
    }
  }

  async #runHandler(turn: Turn, context: TurnContext, abort: AbortController): Promise<TurnEnd> {
    try {
      const output = ((await this.#handler(turn as Turn<Payload>, context)) ?? null) as Json;
      return { status: 'success', output };
    } catch (error) {
      if (abort.signal.aborted || isLost(error) || isPassing(error)) throw error;
      const { code, message } = toFailure(error);
      return { status: 'failed', code: error instanceof Fail ? String(code) : 'agent_error', message: String(message) };
    }
  }

  async #deliver(calls: TurnCalls, end: TurnEnd): Promise<void> {
    const isObject = typeof end.output === 'object' && end.output !== null && !Array.isArray(end.output);
    const content =
      end.status === 'failed' ? { error: end.message ?? '' } : isObject ? end.output : { result: end.output };
    const card = await calls.createCard('task.deliverable', { turn: calls.turnId, ...(content as JsonObject) });
    const box = await calls.append('out', card);
    await calls.advance('deliver', {
      status: end.status,
      deliverable_card_id: card,
      output_box_id: box,
      ...(end.status === 'failed' && {
        error: (end.message ?? '').slice(0, 4000),
        error_code: (end.code ?? 'agent_error').slice(0, 64),
      }),
    });
  }

  async #beat(calls: TurnCalls, abort: AbortController): Promise<void> {
    try {
      await calls.advance('step', { step_id: 'alive', phase: 'executing' });
    } catch (error) {
      if (isLost(error)) abort.abort(new TaskAborted('lost', calls.turnId));
    }
  }

  #handleLoss(turn: Turn | undefined, error: unknown): void {
    if (turn && error instanceof TaskAborted) this.emit('aborted', { turn, reason: error.reason });
    else if (turn && isLost(error)) this.emit('aborted', { turn, reason: 'lost' });
    else this.emit('error', error as Error);
  }
}

interface TurnEnd {
  status: 'success' | 'failed';
  output?: Json;
  code?: string;
  message?: string;
}

const isLost = (error: unknown): boolean => error instanceof ParleyError && LOST_CODES.includes(error.code);

const toTurn = ({ payload = {}, channel_id = 'public', recursion_depth = 0 }: TurnView, calls: TurnCalls): Turn => ({
  id: calls.turnId,
  epoch: calls.epoch,
  channel: channel_id,
  payload,
  depth: recursion_depth,
});
