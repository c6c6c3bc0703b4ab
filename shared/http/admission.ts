import type { HttpRequest } from './http-message.ts';

/** Says how much is worked on at once. Where each process is given one request at a time, there is none. */
export interface Admission {
  /** Before the key is looked at; throws where nobody can be admitted. */
  assertCapacity(): void;
  /** Runs one request of a key, or throws where there is no room for it or for its body. */
  run<T>(key: string, request: HttpRequest, act: (request: HttpRequest) => Promise<T>): Promise<T>;
  /** Resolves when a refusal may be told, or when the signal fires. */
  delayRejection(signal: () => AbortSignal | undefined): Promise<void>;
}
