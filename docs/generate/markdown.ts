/** A Markdown page as blocks with one blank line between them. */
export const page = (...blocks: (string | undefined)[]): string =>
  `${blocks.filter((block) => block !== undefined && block !== '').join('\n\n')}\n`;

export const table = (headers: string[], rows: string[][]): string =>
  rows.length === 0
    ? ''
    : [headers, headers.map(() => '---'), ...rows.map((row) => row.map(escapeCell))]
        .map((cells) => `| ${cells.join(' | ')} |`)
        .join('\n');

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').trim();

export const code = (text: string): string => `\`${text}\``;

/** A fragment of the code's descriptions as a sentence. */
export const sentence = (text = ''): string => {
  const trimmed = text.trim();
  const isName = /^[a-z]+[._]/.test(trimmed);
  const whole = isName ? trimmed : trimmed.slice(0, 1).toUpperCase() + trimmed.slice(1);
  return whole === '' || /[.!?:]$/.test(whole) ? whole : `${whole}.`;
};

/** The anchor that GitHub gives a heading. */
export const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
