/** Each includes those before it. */
export const SCOPES = ['read', 'operate', 'agent', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** What an agent's own key may have: all that the agent may do, or only to read. */
export const AGENT_KEY_SCOPES = ['agent', 'read'] as const satisfies Scope[];
export const OPERATOR_KEY_SCOPES = ['read', 'operate', 'admin'] as const satisfies Scope[];

export const includesScope = (held: Scope, needed: Scope): boolean => SCOPES.indexOf(held) >= SCOPES.indexOf(needed);

export const listIncludedScopes = (held: Scope): Scope[] => SCOPES.slice(0, SCOPES.indexOf(held) + 1);
