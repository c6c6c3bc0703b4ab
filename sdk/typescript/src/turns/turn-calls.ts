import { ParleyError } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Transport } from '../transport.ts';
import type { ToolCommand, TurnMemory, TurnView } from './turn.ts';

const STEP_CARD = 'agent.step';
const DIALECT = { 'parley-dialect': 'common-ground' };

/** The project and the agent that a key names: messages of turns have both in their subjects. */
export interface TurnAgent {
  project: string;
  agent: string;
}

export const parseAgentKey = (key: string): TurnAgent => {
  const [, project, agent] = /^prl_([^.]+)\.([^.@]+)\./.exec(key) ?? [];
  if (project && agent) return { project, agent };
  throw new TypeError('Turns need the key of an agent.');
};

const toPath = (turnId: string, verb = ''): string => `/v1/turns/${encodeURIComponent(turnId)}${verb}`;

/** The calls of one turn. All can be repeated, and all are rejected once the turn is somebody else's. */
export class TurnCalls {
  readonly transport: Transport;
  readonly of: TurnAgent;
  readonly turnId: string;
  readonly epoch: number;

  constructor(transport: Transport, of: TurnAgent, turnId: string, epoch: number) {
    this.transport = transport;
    this.of = of;
    this.turnId = turnId;
    this.epoch = epoch;
  }

  advance(verb: 'start' | 'step' | 'suspend' | 'deliver', body: JsonObject = {}): Promise<unknown> {
    return this.transport.call('POST', toPath(this.turnId, `/${verb}`), { body: { turn_epoch: this.epoch, ...body } });
  }

  view(): Promise<TurnView> {
    return this.transport.call('GET', toPath(this.turnId));
  }

  /** The same content again is the same card. */
  async createCard(type: string, content: JsonObject): Promise<string> {
    const { card_id } = await this.transport.call<{ card_id: string }>('POST', '/v1/cards', {
      body: { type, content },
    });
    return card_id;
  }

  async readCard(id: string): Promise<Json> {
    const { content } = await this.transport.call<{ content: Json }>('GET', `/v1/cards/${encodeURIComponent(id)}`);
    return content;
  }

  /** Into the turn's box of this purpose, which is made by whoever comes first. */
  async append(purpose: 'out' | 'memory', cardId: string): Promise<string> {
    const box_id = `${purpose}-${this.turnId}`;
    const body = { kind: 'output', box_id, agent_turn_id: this.turnId };
    await this.transport.call('POST', '/v1/boxes', { body });
    const cards = [cardId];
    await this.transport.call('POST', `/v1/boxes/${encodeURIComponent(box_id)}/append`, {
      body: { cards, turn_epoch: this.epoch },
    });
    return box_id;
  }

  async remember(key: string, kept: TurnMemory[string]): Promise<void> {
    const content = { turn: this.turnId, key, ...kept } as unknown as JsonObject;
    await this.append('memory', await this.createCard(STEP_CARD, content));
  }

  /** What the turn has kept so far. The first value of a key counts. */
  async recall(): Promise<TurnMemory> {
    const memory: TurnMemory = {};
    const box = `/v1/boxes/${encodeURIComponent(`memory-${this.turnId}`)}/cards`;
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page: BoxPage = await this.transport.call<BoxPage>('GET', box, { query: { from } }).catch((error) => {
        if (error instanceof ParleyError && error.code === 'box_not_found') return { cards: [] };
        throw error;
      });
      for (const { content } of page.cards) {
        const { key, value, call } = content as { key?: string; value?: Json; call?: ToolCommand };
        if (key === undefined || Object.hasOwn(memory, key)) continue;
        memory[key] = { ...(value !== undefined && { value }), ...(call && { call }) };
      }
      from = page.next;
    }
    return memory;
  }

  /** Once the turn waits for it: a report to a turn that does not wait is dropped. */
  async callTool({ target, tool, callId, cardId, topic }: ToolCommand, channel: string): Promise<void> {
    const payload = {
      tool_call_id: callId,
      agent_turn_id: this.turnId,
      turn_epoch: this.epoch,
      agent_id: this.of.agent,
      tool_name: tool,
      tool_call_card_id: cardId,
    };
    await this.#send(channel, topic ?? `cmd.tool.${target}.execute`, payload);
  }

  /** For whoever reads the stream of the turn; nothing depends on it. */
  async say(channel: string, chunk: JsonObject): Promise<void> {
    await this.#send(channel, `str.agent.${this.of.agent}.chunk`, { agent_turn_id: this.turnId, ...chunk });
  }

  async #send(channel: string, topic: string, payload: JsonObject): Promise<void> {
    const body = { subject: `cg.v1r3.${this.of.project}.${channel}.${topic}`, payload };
    await this.transport.call('POST', '/v1/messages', { body, headers: DIALECT });
  }
}

interface BoxPage {
  cards: { content: Json }[];
  next?: number;
}
