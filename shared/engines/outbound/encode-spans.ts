import { SPAN_KINDS, type Span } from '../../kernel/span.ts';

const ERROR_STATUS = 2;
const SCOPE = { name: 'parley' };

/** The body of `POST /v1/traces`: OTLP in its JSON encoding, which has ids in hex and 64-bit numbers as text. */
export const encodeSpans = (spans: readonly Span[], resource: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: SCOPE, spans: spans.map(encodeSpan) }],
      },
    ],
  });

const encodeSpan = ({ tracestate, kind, start, end, attributes, error, ...span }: Span): object => ({
  ...span,
  traceState: tracestate,
  kind: SPAN_KINDS[kind],
  startTimeUnixNano: toNanoseconds(start),
  endTimeUnixNano: toNanoseconds(Math.max(start, end)),
  attributes: encodeAttributes(attributes),
  status: error === undefined ? {} : { code: ERROR_STATUS, message: error },
});

const toNanoseconds = (ms: number): string => `${Math.round(ms)}000000`;

const encodeAttributes = (attributes: Readonly<Record<string, string | number | undefined>>): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) } }],
  );
