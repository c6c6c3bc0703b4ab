import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Written } from './story.ts';

/** What one version of the code left on both engines. */
export interface Fixture {
  embedded: Written & { files: Record<string, string> };
  aws: Written & { time: number; items: FixtureItem[] };
}

const pathOf = (format: number): string => join(import.meta.dirname, `format-${format}.json.br`);

/** Binary attributes as text, as the AWS command line has them. */
export type FixtureItem = Record<string, Exclude<AttributeValue, AttributeValue.BMember> | { B: string }>;

export const encodeItem = (item: Record<string, AttributeValue>): FixtureItem =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      value.B ? { B: Buffer.from(value.B).toString('base64') } : value,
    ]),
  );

/** Without the time at which DynamoDB removes it, which comes. */
export const decodeItem = ({ ttl: _ttl, ...item }: FixtureItem): Record<string, AttributeValue> =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      typeof value.B === 'string' ? { B: Buffer.from(value.B, 'base64') } : value,
    ]),
  );

export const saveFixture = (format: number, fixture: Fixture): void =>
  writeFileSync(pathOf(format), brotliCompressSync(JSON.stringify(fixture)));

export const loadFixture = (format: number): Fixture =>
  JSON.parse(brotliDecompressSync(readFileSync(pathOf(format))).toString());

export const readFolder = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(join(dir, name)).toString('base64')]),
  );

/** A new folder with the files. */
export const writeFolder = (files: Record<string, string>): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-format-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), Buffer.from(content, 'base64'));
  return dir;
};
