import { JetStreamApiError, type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { errors, headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import type { Log } from '../shared/kernel/log.ts';
import type { NatsMessage } from '../shared/nats/nats-message.ts';
import { isResolvedWithin, waitForAbort } from './backoff.ts';
import type { MessageResponse } from './parley-api.ts';

/** Marks messages that a relay published. Ingress ignores them. */
export const RELAY_HEADER = 'Parley-Relay';
const PROBLEM_HEADER = 'Parley-Problem';

export class UnpublishableError extends Error {}

const PUBLISH_TIMEOUT_MS = 5000;
const PING_TIMEOUT_MS = 2000;
/** JetStream: the message is larger than its stream allows. */
const MESSAGE_TOO_LARGE = 10054;

export class NatsClient {
  readonly connection: NatsConnection;
  readonly js: JetStreamClient;
  readonly project: string;
  #isConnected = true;
  #reconnected = Promise.withResolvers<void>();
  readonly #onReconnect: (() => void)[] = [];

  constructor(connection: NatsConnection, project: string, log: Log) {
    this.connection = connection;
    this.js = jetstream(connection, { timeout: PUBLISH_TIMEOUT_MS });
    this.project = project;
    this.#reconnected.resolve();
    this.#watchConnection(log);
  }

  get isConnected(): boolean {
    return this.#isConnected && !this.connection.isClosed();
  }

  async isResponsive(): Promise<boolean> {
    return this.isConnected && (await isResolvedWithin(PING_TIMEOUT_MS, this.connection.rtt()));
  }

  async waitForConnection(signal: AbortSignal): Promise<void> {
    // A race with a promise that stays open for months would keep one closure per message in memory.
    if (!this.#isConnected) await Promise.race([this.#reconnected.promise, waitForAbort(signal)]);
  }

  onReconnect(callback: () => void): void {
    this.#onReconnect.push(callback);
  }

  /** Resolves when JetStream has the message on disk. */
  async publish({ subject, headers: given = {}, payload, id, core }: NatsMessage): Promise<number> {
    const data = JSON.stringify(payload);
    const extensions = headers();
    for (const [name, value] of Object.entries(given)) extensions.set(name, value);
    extensions.set(RELAY_HEADER, this.project);
    try {
      if (core) this.connection.publish(subject, data, { headers: extensions });
      else await this.js.publish(subject, data, { headers: extensions, msgID: id });
      return Buffer.byteLength(data);
    } catch (error) {
      throw isPermanentPublishError(error)
        ? new UnpublishableError(`${subject}: ${String(error)}`, { cause: error })
        : error;
    }
  }

  /** If the message is too large together with the problem, its content is left out. */
  async publishDeadLetter(
    subject: string,
    given: MsgHdrs | undefined,
    data: Uint8Array,
    problem: MessageResponse['body'],
    id: string,
  ): Promise<void> {
    const extensions = headers();
    for (const name of given?.keys() ?? []) {
      // JetStream's own headers refer to the original stream.
      if (name.toLowerCase().startsWith('nats-')) continue;
      for (const value of given?.values(name) ?? []) extensions.append(name, value);
    }
    extensions.set(PROBLEM_HEADER, toHeaderLine(problem));
    const deadSubject = `parley.dead-letters.${subject}`;
    try {
      await this.js.publish(deadSubject, data, { headers: extensions, msgID: id });
    } catch (error) {
      if (!isPermanentPublishError(error)) throw error;
      const alone = headers();
      alone.set(
        PROBLEM_HEADER,
        toHeaderLine({ code: problem.code, detail: problem.detail?.slice(0, 1000), bytes: data.length }),
      );
      await this.js.publish(deadSubject, '', { headers: alone, msgID: id });
    }
  }

  async #watchConnection(log: Log): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === 'disconnect' && this.#isConnected) {
        this.#isConnected = false;
        this.#reconnected = Promise.withResolvers();
        log('warn', 'NATS disconnected', { server: this.connection.getServer() });
      }
      if (type === 'reconnect') {
        this.#isConnected = true;
        this.#reconnected.resolve();
        for (const callback of this.#onReconnect) callback();
        log('info', 'NATS reconnected', { server: this.connection.getServer() });
      }
    }
    this.#reconnected.resolve();
  }
}

const isPermanentPublishError = (error: unknown): boolean =>
  error instanceof errors.InvalidArgumentError ||
  (error instanceof JetStreamApiError && error.code === MESSAGE_TOO_LARGE);

/** A NATS header is one line of ASCII; a problem may quote any text. */
const toHeaderLine = (problem: object): string =>
  JSON.stringify(problem).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
