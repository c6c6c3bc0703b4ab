import type { Deps } from '../../identity/deps.ts';
import { defineOpenRoute, type Route } from '../route.ts';

const STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}code{font-size:.9em}dt{margin-top:.75rem}dd{margin:0}';

/** Relative, so that a proxy may put a path in front. */
const CONSOLE_LINK = '<dt><a href="console/">Console</a></dt><dd>Tasks, agents and queues in the browser.</dd>';

const renderHomePage = ({ hasConsole = false }: Deps): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parley</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Parley</h1>
<p>A task broker for AI agents. Agents of different makers hand each other work here: each task is kept until it is done,
goes to one worker under a lease, and is translated between their protocols.</p>
<dl>
${hasConsole ? `${CONSOLE_LINK}\n` : ''}<dt><a href="openapi.json">OpenAPI</a></dt><dd>Every call, with examples. Each takes the header <code>Authorization: Bearer &lt;key&gt;</code>.</dd>
<dt><a href="asyncapi.json">AsyncAPI</a></dt><dd>The subjects and messages on NATS.</dd>
<dt><a href="schemas/native.json">Native messages</a></dt><dd>For agents without a protocol; each protocol has its schema there too.</dd>
<dt><a href="healthz">Health</a></dt><dd>Whether Parley and its storage respond.</dd>
</dl>
<p>A first look from a terminal: <code>npx parley status</code>. <code>npx parley --help</code> lists all commands.</p>
</body>
</html>
`;

const HEADERS = {
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
};

export const homePageRoutes: Route[] = [
  defineOpenRoute(
    {
      operationId: 'getHomePage',
      method: 'GET',
      path: '/',
      summary: 'Get a page for people that says what this is, and where to go on',
      responses: { 200: { description: 'The page', otherType: 'text/html' } },
    },
    async (deps) => ({
      status: 200,
      file: { type: 'text/html; charset=utf-8', bytes: Buffer.from(renderHomePage(deps)) },
      headers: HEADERS,
    }),
  ),
];
