import { z } from 'zod';

const Value = z.record(z.string(), z.unknown());
const Values = z.record(z.string(), Value);

/** DynamoDB's rule: UTF-8 bytes of the names plus the values by type. */
export const computeItemBytes = (item: unknown): number => {
  const parsed = Values.safeParse(item);
  if (!parsed.success) return 0;
  return Object.entries(parsed.data).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + computeValueBytes(value),
    0,
  );
};

const computeValueBytes = (value: Record<string, unknown>): number => {
  const [type = '', content] = Object.entries(value)[0] ?? [];
  if (type === 'S') return Buffer.byteLength(String(content));
  if (type === 'B') return Buffer.byteLength(String(content), 'base64');
  // Two digits per byte, one byte overhead, one for a sign.
  if (type === 'N')
    return Math.ceil(String(content).replace(/[-.]/g, '').length / 2) + 1 + (String(content)[0] === '-' ? 1 : 0);
  if (type === 'BOOL' || type === 'NULL') return 1;
  if (type === 'M') {
    const entries = Object.keys(Values.parse(content)).length;
    return 3 + entries + computeItemBytes(content);
  }
  const elements = z.array(z.unknown()).parse(content);
  if (type === 'L')
    return 3 + elements.reduce<number>((sum, each) => sum + 1 + computeValueBytes(Value.parse(each)), 0);
  return elements.reduce<number>((sum, each) => sum + computeValueBytes({ [type[0] ?? 'S']: each }), 0);
};

const WRITE_UNIT_BYTES = 1024;

export const computeWriteUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
