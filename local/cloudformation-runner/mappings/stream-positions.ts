import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const Position = z.union([z.object({ after: z.string() }), z.literal('start'), z.literal('end')]);
type Position = z.output<typeof Position>;
const Positions = z.record(z.string(), Position);

const WRITE_EVERY_MS = 100;

/** The file lags: after a crash the last records arrive again, as they may on AWS. */
export class StreamPositions {
  readonly #file: string;
  readonly #positions: Record<string, Position>;
  #timer: NodeJS.Timeout | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#positions = loadPositions(file);
  }

  getPosition(mapping: string, shard: string): Position | undefined {
    return this.#positions[`${mapping} ${shard}`];
  }

  setPosition(mapping: string, shard: string, position: Position): void {
    this.#positions[`${mapping} ${shard}`] = position;
    this.#timer ??= setTimeout(() => this.write(), WRITE_EVERY_MS);
  }

  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#positions), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

const loadPositions = (file: string): Record<string, Position> => {
  try {
    return Positions.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // Without the file, the streams are read from the start and everything arrives again.
    return {};
  }
};
