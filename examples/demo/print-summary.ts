import { styleText } from 'node:util';
import type { DemoServer } from './start-server.ts';

interface Row {
  holder: string;
  claimed: number;
  completed: number;
  failed: number;
  retried: number;
  timeToEnd?: { p50: number; p99: number };
}

const HEAD = ['agent', 'claimed', 'completed', 'failed', 'tried again', 'half in', '99 % in'];
const toSeconds = (ms: number | undefined): string => (ms === undefined ? '–' : `${(ms / 1000).toFixed(1)} s`);

/** A table of who did how much. */
export const printSummary = async ({ call }: DemoServer): Promise<void> => {
  const { holders, total } = await call('GET', '/v1/stats?window=1h&step=5m&by=holder&limit=50');
  const rows = (holders as Row[])
    .toSorted((a, b) => b.completed - a.completed)
    .map(({ holder, claimed, completed, failed, retried, timeToEnd }) =>
      [holder, claimed, completed, failed, retried, toSeconds(timeToEnd?.p50), toSeconds(timeToEnd?.p99)].map(String),
    );
  const widths = HEAD.map((head, index) => Math.max(head.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const format = (cells: string[]): string =>
    cells
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('   ');
  console.log(`\n${styleText('bold', format(HEAD))}`);
  for (const row of rows) console.log(format(row));
  console.log(`\n${total.submitted} tasks requested, ${total.completed} completed, ${total.failed} failed for good.`);
};
