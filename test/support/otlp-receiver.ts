import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod';
import { eventually } from './eventually.ts';
import { atEndOf, type Owner } from './server-process.ts';

const Attributes = z.array(
  z.strictObject({
    key: z.string().min(1),
    value: z.union([
      z.strictObject({ stringValue: z.string() }),
      z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    ]),
  }),
);

const OtlpSpan = z.strictObject({
  traceId: z.string().regex(/^(?!0{32})[0-9a-f]{32}$/),
  spanId: z.string().regex(/^(?!0{16})[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  traceState: z.string().optional(),
  name: z.string().min(1),
  kind: z.number().int().min(1).max(5),
  startTimeUnixNano: z.string().regex(/^\d{18,19}$/),
  endTimeUnixNano: z.string().regex(/^\d{18,19}$/),
  attributes: Attributes,
  status: z.strictObject({ code: z.number().int().min(0).max(2).optional(), message: z.string().optional() }),
});

/** `ExportTraceServiceRequest` in JSON. A field that OTLP does not have is refused. */
const ExportRequest = z.strictObject({
  resourceSpans: z
    .array(
      z.strictObject({
        resource: z.strictObject({ attributes: Attributes }),
        scopeSpans: z.array(
          z.strictObject({
            scope: z.strictObject({ name: z.string(), version: z.string().optional() }),
            spans: z.array(OtlpSpan).min(1),
          }),
        ),
      }),
    )
    .min(1),
});

export interface ReceivedSpan extends Omit<z.output<typeof OtlpSpan>, 'attributes'> {
  attributes: Record<string, string | number>;
  resource: Record<string, string | number>;
}

const toRecord = (attributes: z.output<typeof Attributes>): Record<string, string | number> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, 'stringValue' in value ? value.stringValue : Number(value.intValue)]),
  );

/** A collector on this machine, which refuses what is no OTLP. */
export const otlpReceiver = async (owner: Owner) => {
  const spans: ReceivedSpan[] = [];
  const calls: { path: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const invalid: string[] = [];
  const answers = { status: 200, hangs: false };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    calls.push({ path: request.url, headers: request.headers });
    if (answers.hangs) return;
    if (answers.status >= 300) return response.writeHead(answers.status).end();
    const { data, error } = ExportRequest.safeParse(JSON.parse(text));
    if (error || request.url !== '/v1/traces') {
      invalid.push(`${request.url}: ${error?.message}`);
      return response.writeHead(400).end();
    }
    for (const { resource, scopeSpans } of data.resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          ...span,
          attributes: toRecord(span.attributes),
          resource: toRecord(resource.attributes),
        });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOf(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const waitFor = (count: number, timeoutMs?: number): Promise<ReceivedSpan[]> =>
    eventually(() => {
      if (invalid.length > 0) throw new Error(invalid.join('\n'));
      if (spans.length < count)
        throw new Error(`${spans.length} of ${count} spans: ${spans.map(({ name }) => name).join(', ')}`);
      return spans;
    }, timeoutMs);
  return { url: `http://127.0.0.1:${port}`, spans, calls, invalid, answers, waitFor };
};
