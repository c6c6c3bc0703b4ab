/** Each includes those before it. */
export const KEY_SCOPES = ['read', 'operate', 'agent', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** What an agent's own key may have: all that the agent may do, or only to read. */
export const AGENT_KEY_SCOPES = ['agent', 'read'] as const satisfies KeyScope[];

export const includesScope = (held: KeyScope, needed: KeyScope): boolean =>
  KEY_SCOPES.indexOf(held) >= KEY_SCOPES.indexOf(needed);

export const listIncludedScopes = (held: KeyScope): KeyScope[] => KEY_SCOPES.slice(0, KEY_SCOPES.indexOf(held) + 1);
