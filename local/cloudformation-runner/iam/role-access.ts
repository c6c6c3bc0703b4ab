import { matchesGlob } from './glob.ts';
import { isConditionMet, OVER_TLS, type Statement } from './policy-document.ts';

export interface Grant {
  action: string;
  resource: string;
}

interface CountedGrant extends Grant {
  isUsed: boolean;
  statement: Statement;
}

export class RoleAccess {
  readonly roleName: string;
  readonly #grants: CountedGrant[];
  readonly #denials: Statement[];

  constructor(roleName: string, statements: readonly Statement[]) {
    this.roleName = roleName;
    this.#denials = statements.filter(({ Effect }) => Effect === 'Deny');
    this.#grants = statements
      .filter(({ Effect }) => Effect === 'Allow')
      .flatMap((statement) =>
        statement.Action.flatMap((action) =>
          statement.Resource.map((resource) => ({ action, resource, statement, isUsed: false })),
        ),
      );
  }

  /** Marks every matching grant as used, because any of them may be the needed one. */
  isAllowed(action: string, resource: string): boolean {
    const isDenied = this.#denials.some(
      (statement) =>
        statement.Action.some((pattern) => matchesAction(pattern, action)) &&
        statement.Resource.some((pattern) => matchesGlob(pattern, resource)) &&
        isConditionMet(statement.Condition, OVER_TLS),
    );
    if (isDenied) return false;
    const allowing = this.#grants.filter(
      (grant) =>
        matchesAction(grant.action, action) &&
        matchesGlob(grant.resource, resource) &&
        isConditionMet(grant.statement.Condition, OVER_TLS),
    );
    for (const grant of allowing) grant.isUsed = true;
    return allowing.length > 0;
  }

  recordUse(prefixes: readonly string[]): void {
    for (const grant of this.#grants) grant.isUsed ||= prefixes.some((prefix) => grant.action.startsWith(prefix));
  }

  listUnusedGrants(): Grant[] {
    return this.#grants.filter(({ isUsed }) => !isUsed).map(({ action, resource }) => ({ action, resource }));
  }
}

const matchesAction = (pattern: string, action: string): boolean =>
  matchesGlob(pattern.toLowerCase(), action.toLowerCase());
