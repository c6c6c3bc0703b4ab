import { ERROR_CODES, type ErrorCodeRow } from '../../shared/kernel/error-codes.ts';
import { code, page, table } from './markdown.ts';

const INTRODUCTION = `Errors are \`application/problem+json\` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)). Programs should rely on
\`code\`, which never changes its meaning, and on \`retryable\`. \`detail\` is text for people.

\`\`\`json
{
  "type": "urn:parley:problem:already_claimed",
  "title": "Conflict",
  "status": 409,
  "code": "already_claimed",
  "retryable": false,
  "detail": "The task 5f0c… is held by worker-2.",
  "holder": "worker-2"
}
\`\`\`

After a retryable error, or no response at all, send the same request again with the same ids. Parley carries it out once.
Wait for \`Retry-After\`, if the response has that header.`;

export const renderErrorCodes = (): string => {
  const rows: [string, ErrorCodeRow][] = Object.entries(ERROR_CODES);
  return page(
    '# Error codes',
    INTRODUCTION,
    table(
      ['code', 'status', 'retryable', 'meaning', 'action'],
      rows.map(([name, { status, retryable = false, meaning, action }]) => [
        code(name),
        String(status),
        retryable ? 'yes' : 'no',
        meaning,
        action,
      ]),
    ),
  );
};
