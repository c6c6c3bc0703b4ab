import { setTimeout as sleep } from 'node:timers/promises';
import type { Output } from './output.ts';

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_REST = '\u001b[J';

/** On a terminal the screen is drawn again and again until Ctrl-C; elsewhere the lines are printed when they have changed. */
export const showLive = async (
  out: Output,
  signal: AbortSignal,
  intervalMs: number,
  render: () => Promise<string[]>,
): Promise<void> => {
  let last: string[] = [];
  if (out.isTerminal) process.stdout.write(ENTER);
  try {
    while (!signal.aborted) {
      const lines = await render().catch((error) => {
        if (!out.isTerminal || last.length === 0 || signal.aborted) throw error;
        return error instanceof Error ? error : new Error(String(error));
      });
      // What was drawn stays, and who looks sees that it is old.
      if (lines instanceof Error) drawScreen([out.style('red', lines.message), ...last]);
      else if (out.isTerminal) drawScreen(lines);
      else if (lines.join() !== last.join()) process.stdout.write(`${lines.join('\n')}\n`);
      if (!(lines instanceof Error)) last = lines;
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    if (out.isTerminal) process.stdout.write(LEAVE);
  }
};

const drawScreen = (lines: string[]): void => {
  const rows = process.stdout.rows ?? 24;
  const shown = lines.length < rows ? lines : [...lines.slice(0, rows - 2), '…'];
  process.stdout.write(`${HOME}${shown.map((line) => `${line}${CLEAR_LINE}`).join('\n')}${CLEAR_REST}`);
};

/** In eighths of a character. */
export const formatBar = (share: number, width = 10): string => {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const full = Math.floor(eighths / 8);
  const part = eighths % 8;
  return `${'█'.repeat(full)}${part > 0 ? ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][part] : ''}`.padEnd(width);
};
