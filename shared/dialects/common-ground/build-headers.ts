import type { Json, JsonObject } from '../../kernel/json/json.ts';
import type { Trace } from '../../kernel/trace.ts';
import { toIso } from '../../ports/clock.ts';
import { type CommonGroundHeaders, parseTraceHeaders } from './headers.ts';
import { COMMON_GROUND_VERSION } from './subject.ts';

/** What Parley puts beside a message of its own. */
export const buildHeaders = (of: Trace & { at: number; type: string; sender: string; depth: number }): JsonObject => ({
  traceparent: of.traceparent,
  tracestate: of.tracestate,
  baggage: of.baggage,
  'CG-Timestamp': toIso(of.at),
  'CG-Version': COMMON_GROUND_VERSION,
  'CG-Msg-Type': of.type,
  'CG-Sender': of.sender,
  'CG-Recursion-Depth': String(of.depth),
});

/** Who sent it is whose key it came with, whatever it says: whoever it reaches must be able to rely on that. */
export const withSender = (headers: CommonGroundHeaders, sender: string): CommonGroundHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name.toLowerCase() === 'cg-sender' ? sender : value]),
  );

/** What a sender left out, and only that. */
export const fillMissingHeaders = (
  headers: CommonGroundHeaders,
  missing: { at: number; type: string; sender: string; depth: number; version: string },
  trace: Trace,
  within: JsonObject = {},
): JsonObject => {
  const own = parseTraceHeaders(headers) ?? trace;
  const { at, type, sender, depth, version } = missing;
  const filled: [string, Json | undefined][] = [
    ...Object.entries(within),
    ['traceparent', own.traceparent],
    ['tracestate', own.tracestate],
    ['baggage', own.baggage],
    ['CG-Timestamp', toIso(at)],
    ['CG-Version', version],
    ['CG-Msg-Type', type],
    ['CG-Sender', sender],
    ['CG-Recursion-Depth', String(depth)],
  ];
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
  );
  const names = new Set(given.filter(([, value]) => value !== '').map(([name]) => name.toLowerCase()));
  return Object.fromEntries([
    ...given.filter(([, value]) => value !== ''),
    ...filled.filter(([name, value]) => value !== undefined && !names.has(name.toLowerCase())),
  ]);
};

/** The headers of a message that is given on, with a trace of Parley's own in place of whatever stood there. */
export const withTrace = (headers: JsonObject, traceparent: string): JsonObject => ({
  ...Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'traceparent')),
  traceparent,
});
