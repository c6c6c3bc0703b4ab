import { RunnerError } from './runner-error.ts';

export class TemplateError extends RunnerError {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(
      mistakes.length === 1 ? mistakes[0] : `The template has ${mistakes.length} mistakes:\n  ${mistakes.join('\n  ')}`,
    );
    this.mistakes = mistakes;
  }
}

export class TemplateIssues {
  readonly #all: string[] = [];

  add(logicalId: string, what: string): void {
    const line = `${logicalId}: ${what}`;
    if (!this.#all.includes(line)) this.#all.push(line);
  }

  throwIfAny(): void {
    if (this.#all.length > 0) throw new TemplateError(this.#all);
  }
}

export const unknownResourceIssue = (what: string): string => `${what} is not known to the local runner`;
