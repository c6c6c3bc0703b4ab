/** W3C trace context, as it travels in headers and is kept with a task. */
export interface Trace {
  traceparent: string;
  tracestate?: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The caller's trace, or a new one where it sent none that can be read. */
export const traceFrom = (traceparent: string | undefined, tracestate: string | undefined): Trace =>
  traceparent !== undefined && TRACEPARENT.test(traceparent)
    ? { traceparent, tracestate: tracestate?.slice(0, 512) }
    : { traceparent: `00-${hex(32)}-${hex(16)}-01` };

/** The same trace, one span further down. */
export const childOf = ({ traceparent, tracestate }: Trace): Trace => {
  const [, traceId, , flags] = TRACEPARENT.exec(traceparent) ?? [];
  return { traceparent: `00-${traceId}-${hex(16)}-${flags}`, tracestate };
};

/** Random, but no secret. */
const hex = (digits: 16 | 32): string => {
  let text = '';
  while (text.length < digits)
    text += Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return text;
};
