import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item, RecordChange } from '../../ports/records.ts';
import type { ItemCodec } from './item-codec.ts';

/** One record of the table's stream, as a function is given it: binary values are base64 text there. */
export interface StreamRecord {
  OldImage?: Record<string, unknown>;
  NewImage?: Record<string, unknown>;
}

/** The writes that a stream record tells of: one, or two where a new record took the place of an expired one. */
export const decodeStreamRecord = (codec: ItemCodec, { OldImage, NewImage }: StreamRecord): RecordChange[] => {
  const before = OldImage && codec.decode<Item>(decodeImage(OldImage));
  const after = NewImage && codec.decode<Item>(decodeImage(NewImage));
  const isAnother = before && after && after.v === 1;
  return isAnother ? [{ before }, { after }] : [{ before, after }];
};

const decodeImage = (image: Record<string, unknown>): Record<string, AttributeValue> =>
  Object.fromEntries(Object.entries(image).map(([name, value]) => [name, decodeAttribute(value)]));

/** Only top-level values are ever binary: the engine packs whole fields. */
const decodeAttribute = (value: unknown): AttributeValue => {
  const binary = typeof value === 'object' && value !== null && 'B' in value ? value.B : undefined;
  if (typeof binary === 'string') return { B: Buffer.from(binary, 'base64') };
  return value as AttributeValue;
};
