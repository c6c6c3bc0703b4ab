import { createHash, randomBytes } from 'node:crypto';

/** A link in a terminal is opened soon; one in an old log must not work. */
const VALID_MS = 60 * 60 * 1000;

const hash = (code: string): string => createHash('sha256').update(code).digest('hex');

/** Codes that sign in once. Only their hashes are kept, so that a comparison tells nothing about them. */
export class SignInCodes {
  readonly #expiries = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  create(): string {
    for (const [code, expiry] of this.#expiries) if (expiry <= this.#now()) this.#expiries.delete(code);
    const code = randomBytes(18).toString('base64url');
    this.#expiries.set(hash(code), this.#now() + VALID_MS);
    return code;
  }

  /** Whether it was good; it no longer is. */
  redeem(code: string): boolean {
    const expiry = this.#expiries.get(hash(code));
    this.#expiries.delete(hash(code));
    return expiry !== undefined && expiry > this.#now();
  }
}
