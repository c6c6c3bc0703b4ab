import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

const FRAME = /(?:file:\/\/)?(\/[^\s():]+\.mjs):(\d+):(\d+)/g;
const maps = new Map<string, SourceMap>();

const loadMap = (file: string): SourceMap => {
  const map = maps.get(file) ?? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
  maps.set(file, map);
  return map;
};

/** Places in the sources. Node would read all maps at each cold start to do the same. */
export const mapStack = (text: string): string =>
  text.replace(FRAME, (frame: string, file: string, line: string, column: string) => {
    try {
      const entry = loadMap(file).findEntry(Number(line) - 1, Number(column) - 1);
      return 'originalSource' in entry
        ? `${entry.originalSource.replace(/^(\.\.\/)+/, '')}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
        : frame;
    } catch {
      return frame;
    }
  });
