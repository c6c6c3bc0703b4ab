import { type JetStreamManager, RetentionPolicy, type StoredMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/kernel/log.ts';
import type { UnreadSource } from '../shared/nats/relay-plan.ts';
import { applyDisposition, deadLetterMessage, type SettleableMessage } from './ack.ts';
import { sleepUntilAborted } from './backoff.ts';
import { toCallDisposition, toDisposition } from './disposition.ts';
import { type IngressMessage, toIngressMessage } from './envelope.ts';
import { NOT_AN_OBJECT_PROBLEM } from './ingress.ts';
import type { RelayMetrics } from './metrics.ts';
import { type NatsClient, RELAY_HEADER } from './nats-client.ts';
import { type MessageResponse, type ParleyApi, ParleyResponseError } from './parley-api.ts';
import { isOverlapping } from './provision-streams.ts';

export interface UnreadSubjectsOptions {
  site: NatsClient;
  api: ParleyApi;
  metrics: RelayMetrics;
  log: Log;
  signal: AbortSignal;
  intervalMs: number;
}

/** A reader may be about to start, so a subject is unread only at the second look. */
export const UNREAD_INTERVAL_MS = 30_000;

/** A consumer of the whole workqueue would take from its agents what they read. */
export class UnreadSubjects {
  readonly #source: UnreadSource;
  readonly #options: UnreadSubjectsOptions;
  #lastLook = new Set<string>();

  constructor(source: UnreadSource, options: UnreadSubjectsOptions) {
    this.#source = source;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { site, signal, log, intervalMs } = this.#options;
    for (;;) {
      await sleepUntilAborted(intervalMs, signal);
      if (signal.aborted) return;
      if (!site.isConnected) continue;
      try {
        await this.#look(await site.js.jetstreamManager(false));
      } catch (error) {
        if (!signal.aborted) log('warn', 'look for unread subjects failed', { error: String(error) });
      }
    }
  }

  async #look(jsm: JetStreamManager): Promise<void> {
    const stream = await jsm.streams.find(this.#source.filter);
    const unread = await this.#listUnread(jsm, stream);
    for (const subject of unread) if (this.#lastLook.has(subject)) await this.#bring(jsm, stream, subject);
    this.#lastLook = new Set(unread);
  }

  async #listUnread(jsm: JetStreamManager, stream: string): Promise<string[]> {
    const { filter, except } = this.#source;
    const { config, state } = await jsm.streams.info(stream, { subjects_filter: filter });
    // Elsewhere, messages stay after they are read.
    if (config.retention !== RetentionPolicy.Workqueue) return [];
    const left = Object.keys(state.subjects ?? {}).filter((subject) => !matchesAny(subject, except));
    if (left.length === 0) return [];
    const read: string[] = [];
    for await (const { config: own } of jsm.consumers.list(stream)) {
      read.push(...(own.filter_subjects ?? [own.filter_subject ?? '>']));
    }
    return left.filter((subject) => !matchesAny(subject, read));
  }

  async #bring(jsm: JetStreamManager, stream: string, subject: string): Promise<void> {
    for (let seq = 1; !this.#options.signal.aborted; ) {
      const next = { seq, next_by_subj: subject };
      const stored = await jsm.streams.getMessage(stream, next);
      if (!stored) return;
      await this.#settle(jsm, stream, stored);
      seq = stored.seq + 1;
    }
  }

  async #settle(jsm: JetStreamManager, stream: string, stored: StoredMsg): Promise<void> {
    const { subject, header: headers, data, time, seq } = stored;
    if (headers?.has(RELAY_HEADER)) return;
    let removed: Promise<unknown> | undefined;
    const remove = (): void => {
      removed = jsm.streams.deleteMessage(stream, seq);
    };
    const info = { stream, streamSequence: seq, deliveryCount: Number.POSITIVE_INFINITY };
    const message: SettleableMessage = { subject, headers, data, time, info, ack: remove, term: remove, nak: () => {} };
    const arrived = toIngressMessage(message);
    if (arrived) {
      const result = await this.#send(arrived);
      await applyDisposition(this.#options, message, toDisposition(result, info.deliveryCount), result);
    } else await deadLetterMessage(this.#options, message, NOT_AN_OBJECT_PROBLEM);
    await removed;
    if (removed) this.#options.log('info', 'unread message taken', { subject });
  }

  async #send({ text, envelope }: IngressMessage): Promise<MessageResponse> {
    try {
      const [result] = await this.#options.api.sendMessages([text], [envelope]);
      if (result) return result;
      throw new Error('Parley answered nothing');
    } catch (error) {
      const result = error instanceof ParleyResponseError && { status: error.status, body: error.problem };
      if (result && toCallDisposition(result) === 'deadLetter') return result;
      throw error;
    }
  }
}

const matchesAny = (subject: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => isOverlapping(pattern, subject));
