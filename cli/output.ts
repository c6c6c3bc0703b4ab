import { stripVTControlCharacters, styleText } from 'node:util';

export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
  style?: (row: Row) => Style | undefined;
  align?: 'right';
}

/** Control characters in what others wrote could change the terminal. */
export const toPlainText = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must go
  stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

/** Results on standard output, everything else on standard error. */
export class Output {
  readonly isJson: boolean;
  readonly isTerminal: boolean;
  readonly #hasColour: boolean;

  constructor(isJson: boolean, env: Record<string, string | undefined>) {
    this.isJson = isJson;
    this.isTerminal = process.stdout.isTTY === true;
    this.#hasColour = this.isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  }

  style(style: Style | undefined, text: string): string {
    return style && this.#hasColour ? styleText(style, text, { validateStream: false }) : text;
  }

  line(text = ''): void {
    process.stdout.write(`${text}\n`);
  }

  /** How far long work is, in one line of a terminal that is written again and again. */
  progress(text: string | undefined): void {
    if (this.isJson || process.stderr.isTTY !== true) return;
    process.stderr.write(`\r\u001b[K${text ?? ''}`);
  }

  /** For people only: progress, hints. */
  note(text: string): void {
    if (!this.isJson) process.stderr.write(`${text}\n`);
  }

  json(value: unknown): void {
    process.stdout.write(`${JSON.stringify(value, null, this.isTerminal ? 2 : undefined)}\n`);
  }

  /** One JSON line a row for programs, a table for people. */
  table<Row>(rows: readonly Row[], columns: Column<Row>[], none: string): void {
    if (this.isJson) {
      this.json(rows);
      return;
    }
    if (rows.length === 0) {
      this.note(none);
      return;
    }
    for (const line of formatTable(this, rows, columns)) this.line(line);
  }
}

/** Its lines, with a heading on a terminal. */
export const formatTable = <Row>(out: Output, rows: readonly Row[], columns: Column<Row>[]): string[] => {
  const cells = rows.map((row) => columns.map(({ value }) => toPlainText(String(value(row) ?? ''))));
  // Programs split lines at tabs.
  if (!out.isTerminal) return cells.map((line) => line.join('\t'));
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...cells.map((line) => line[at]?.length ?? 0)));
  const pad = (text: string, at: number): string => {
    const width = widths[at] ?? 0;
    if (columns[at]?.align === 'right') return text.padStart(width);
    return at === columns.length - 1 ? text : text.padEnd(width);
  };
  const head = out.style('dim', columns.map(({ title }, at) => pad(title, at)).join('  '));
  const lines = cells.map((line, index) =>
    line.map((text, at) => out.style(columns[at]?.style?.(rows[index] as Row), pad(text, at))).join('  '),
  );
  return [head, ...lines];
};

const UNITS: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

export const formatAge = (at: string | number | undefined, now = Date.now()): string => {
  if (at === undefined) return '';
  const ms = Math.max(0, now - (typeof at === 'number' ? at : Date.parse(at)));
  const [unit, size] = UNITS.find(([, least]) => ms >= least) ?? ['s', 1000];
  return `${Math.floor(ms / size)}${unit}`;
};

export const styleOfState = (state: string): Style | undefined => {
  if (state === 'completed') return 'green';
  if (state === 'failed' || state === 'expired') return 'red';
  if (state === 'input_required' || state === 'cancelled') return 'yellow';
  return state === 'claimed' || state === 'in_progress' ? 'cyan' : undefined;
};
