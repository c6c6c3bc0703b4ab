import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { EMBEDDED_FILES } from '../../console/embedded-files.ts';
import { prepareFiles, serveConsole } from '../../console/serve-console.ts';
import { createHandler } from './create-handler.ts';

const files = prepareFiles(
  new Map(Object.entries(EMBEDDED_FILES).map(([name, text]) => [name, Buffer.from(text, 'base64')])),
);

/** The console beside the API, at the same address. It needs no table: the page asks the API with the key of its tab. */
export const handleConsole = createHandler<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>(
  async ({ requestContext, rawPath, headers }) => {
    const {
      status,
      headers: answered,
      body,
    } = serveConsole(files, {
      method: requestContext.http.method,
      path: rawPath,
      headers,
    });
    return { statusCode: status, headers: answered, ...encodeBody(body) };
  },
);

const encodeBody = (body: string | Uint8Array) =>
  typeof body === 'string' ? { body } : { body: Buffer.from(body).toString('base64'), isBase64Encoded: true as const };
