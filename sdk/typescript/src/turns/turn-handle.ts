import { TaskFailed } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import { readEvents } from '../sse.ts';
import type { Transport } from '../transport.ts';
import type { TurnView } from './turn.ts';

export interface TurnOptions {
  /** The same call again is the same turn. */
  correlation?: string;
  channel?: string;
  contextBox?: string;
}

export interface TurnChunk {
  step_id: string;
  content: string;
  [field: string]: Json;
}

/** A turn that was called. */
export class TurnHandle<Output = JsonObject> {
  readonly id: string;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = id;
  }

  status(): Promise<TurnView> {
    return this.#transport.call('GET', this.#path());
  }

  /** What the agent says, as it says it, until the turn ends. */
  async *stream({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<TurnChunk> {
    for await (const { type, data } of readEvents(this.#transport, this.#path('/stream'), { signal })) {
      if (type === 'end') return;
      if (type === 'chunk') yield data as TurnChunk;
    }
  }

  /** The content of the deliverable; otherwise a `TaskFailed`. */
  async result({ signal }: { signal?: AbortSignal } = {}): Promise<Output> {
    for await (const _chunk of this.stream(signal ? { signal } : {})) {
      // Until its end.
    }
    const { status, deliverable_card_id: card, error } = await this.status();
    if (status !== 'success') {
      throw new TaskFailed(this.id, 'failed', status, error ?? `The turn ${this.id} ended as ${status}.`);
    }
    const { content } = await this.#transport.call<{ content: Output }>('GET', `/v1/cards/${card}`);
    return content;
  }

  #path(rest = ''): string {
    return `/v1/turns/${encodeURIComponent(this.id)}${rest}`;
  }
}

export const callAgent = async <Output>(
  transport: Transport,
  agent: string,
  payload: JsonObject,
  { correlation = crypto.randomUUID(), channel, contextBox }: TurnOptions = {},
): Promise<TurnHandle<Output>> => {
  const body = {
    agent_id: agent,
    correlation_id: correlation,
    payload,
    ...(channel !== undefined && { channel_id: channel }),
    ...(contextBox !== undefined && { context_box_id: contextBox }),
  };
  const { agent_turn_id } = await transport.call<{ agent_turn_id: string }>('POST', '/v1/turns', { body });
  return new TurnHandle<Output>(transport, agent_turn_id);
};
