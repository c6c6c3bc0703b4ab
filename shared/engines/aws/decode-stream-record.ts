import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item, RecordChange } from '../../ports/records.ts';
import type { ItemCodec } from './item-codec.ts';

/** As Lambda receives it: binary values are base64. */
export interface StreamRecord {
  OldImage?: Record<string, unknown>;
  NewImage?: Record<string, unknown>;
}

/** Two changes if a new record replaced an expired one. */
export const decodeStreamRecord = (codec: ItemCodec, { OldImage, NewImage }: StreamRecord): RecordChange[] => {
  const before = OldImage && codec.decode<Item>(decodeImage(OldImage));
  const after = NewImage && codec.decode<Item>(decodeImage(NewImage));
  const isAnother = before && after && after.v === 1;
  return isAnother ? [{ before }, { after }] : [{ before, after }];
};

const decodeImage = (image: Record<string, unknown>): Record<string, AttributeValue> =>
  Object.fromEntries(Object.entries(image).map(([name, value]) => [name, decodeAttribute(value)]));

const decodeAttribute = (value: unknown): AttributeValue => {
  const binary = typeof value === 'object' && value !== null && 'B' in value ? value.B : undefined;
  if (typeof binary === 'string') return { B: Buffer.from(binary, 'base64') };
  return value as AttributeValue;
};
