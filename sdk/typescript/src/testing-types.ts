import type { ConnectOptions, Parley } from './client.ts';
import type { Duration } from './duration.ts';
import type { JsonObject } from './json.ts';

export interface TestParleyOptions {
  /** Times and limits, as `parley.config.ts` has them: `{ tasks: { maxAttempts: 5 } }`. */
  config?: JsonObject;
}

export interface TestAgentOptions {
  capabilities?: string[];
  /** By default `native`. */
  dialect?: string;
  /** Further fields of the registration. */
  registration?: JsonObject;
  connection?: Omit<ConnectOptions, 'url' | 'key' | 'fetch'>;
}

/** A whole Parley in this process, without a socket, with a clock that stands still until the test moves it. */
export interface TestParley {
  /** With an administrator's key. */
  readonly admin: Parley;
  /** Registers an agent and connects it. Domains of its capabilities are there from then on. */
  agent(name: string, options?: TestAgentOptions): Promise<Parley>;
  /** What time it is there, in milliseconds. */
  now(): number;
  /** Lets time pass: leases end, retries and timeouts come due. */
  advance(time: Duration): Promise<void>;
  stop(): Promise<void>;
}

export type StartTestParley = (options?: TestParleyOptions) => Promise<TestParley>;
