export interface Check {
  name: string;
  /** `warn` needs a look, `bad` needs a hand. */
  state: 'ok' | 'warn' | 'bad';
  says: string;
  /** What to do about it. */
  todo?: string;
}

export const ok = (name: string, says: string): Check => ({ name, state: 'ok', says });
export const warn = (name: string, says: string, todo: string): Check => ({ name, state: 'warn', says, todo });
export const bad = (name: string, says: string, todo: string): Check => ({ name, state: 'bad', says, todo });
