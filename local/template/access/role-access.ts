import { fits } from './glob.ts';
import { conditionHolds, OVER_TLS, type Statement } from './policy-document.ts';

/** One action on one resource pattern that a role's policies allow. */
export interface Grant {
  action: string;
  resource: string;
}

interface CountedGrant extends Grant {
  isUsed: boolean;
  statement: Statement;
}

/** What one role may do, and which of its grants have been needed. */
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

  /** An allowed call uses every grant that allows it: any of them could be the one that is needed. */
  allows(action: string, resource: string): boolean {
    const isDenied = this.#denials.some(
      (statement) =>
        statement.Action.some((pattern) => actionFits(pattern, action)) &&
        statement.Resource.some((pattern) => fits(pattern, resource)) &&
        conditionHolds(statement.Condition, OVER_TLS),
    );
    if (isDenied) return false;
    const allowing = this.#grants.filter(
      (grant) =>
        actionFits(grant.action, action) &&
        fits(grant.resource, resource) &&
        conditionHolds(grant.statement.Condition, OVER_TLS),
    );
    for (const grant of allowing) grant.isUsed = true;
    return allowing.length > 0;
  }

  /** Counts all grants of these services as used. */
  use(prefixes: readonly string[]): void {
    for (const grant of this.#grants) grant.isUsed ||= prefixes.some((prefix) => grant.action.startsWith(prefix));
  }

  unused(): Grant[] {
    return this.#grants.filter(({ isUsed }) => !isUsed).map(({ action, resource }) => ({ action, resource }));
  }
}

const actionFits = (pattern: string, action: string): boolean => fits(pattern.toLowerCase(), action.toLowerCase());
