import type { Log } from '../shared/kernel/log.ts';
import { sleepWithBackoff } from './backoff.ts';
import type { ParleyApi } from './parley-api.ts';

interface AuthBackoffOptions {
  api: ParleyApi;
  log: Log;
  signal: AbortSignal;
  onKeyChange: (isGood: boolean) => void;
}

/** Stops taking messages until a call is authorized again: a key rotation must lose no message. */
export class AuthBackoff {
  readonly #options: AuthBackoffOptions;
  #isOn = false;

  constructor(options: AuthBackoffOptions) {
    this.#options = options;
  }

  get isActive(): boolean {
    return this.#isOn;
  }

  async wait(why: string | undefined): Promise<void> {
    const { api, log, signal, onKeyChange } = this.#options;
    this.#isOn = true;
    onKeyChange(false);
    log('error', 'relay key rejected, relay paused until it is accepted', { why });
    for (let attempts = 0; !signal.aborted && this.#isOn; attempts++) {
      await sleepWithBackoff(attempts, signal);
      const isGood = await api.getPlan().then(
        () => true,
        () => false,
      );
      if (!isGood) continue;
      this.#isOn = false;
      onKeyChange(true);
      log('info', 'relay key accepted, relay resumed');
    }
  }
}
