interface ProblemBody {
  code?: string;
  detail?: string;
  title?: string;
  issues?: { path: string; message: string }[];
}

/** A refusal, with its stable code. `gone` and `aborted` are those of the console itself. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  readonly issues: { path: string; message: string }[];

  constructor(status: number, { code, detail, title, issues }: ProblemBody) {
    super(detail ?? title ?? `The server answered ${status}.`);
    this.code = code ?? `http_${status}`;
    this.status = status;
    this.issues = issues ?? [];
  }
}

export const toProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem(0, { code: 'console_error', detail: String(error) });

/** The call is not there: an older server, or another engine. */
export const isMissingCall = ({ status, code, message }: Problem): boolean =>
  (status === 404 && code === 'not_found' && message.startsWith('There is nothing at')) || status === 405;
