import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { deployed, getAtt, ref, type SmallDeployment, wholeSuite } from './small-template.ts';

const ECHO = 'export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });';

/** Does as the path says. */
const ODD = `
let calls = 0;
export const handler = async (event, context) => {
  calls += 1;
  const what = event.rawPath.split('/').at(-1);
  if (what === 'created') {
    return { statusCode: 201, headers: { 'Content-Type': 'text/x', 'X-Number': 7 }, cookies: ['a=1', 'b=2'], body: 'yes' };
  }
  if (what === 'binary') return { statusCode: 200, body: Buffer.from([0, 255]).toString('base64'), isBase64Encoded: true };
  if (what === 'nothing') return { statusCode: 204 };
  if (what === 'plain') return { hello: 'there' };
  if (what === 'throws') throw new TypeError('no good');
  if (what === 'nonsense') return { statusCode: 'many' };
  if (what === 'huge') return { statusCode: 200, body: 'x'.repeat(6 * 1024 * 1024) };
  if (what === 'loops') for (;;);
  if (what === 'exits') process.exit(3);
  if (what === 'environment') return { env: process.env, context, left: context.getRemainingTimeInMillis(), calls };
};
`;

const SLOW = `
export const handler = ({ rawPath }) => new Promise((resolve) => setTimeout(() => resolve({ statusCode: 200, body: 'slow' }), 300));
`;

describe('an HTTP API', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;

  before(async () => {
    const integration = (id: string, TimeoutInMillis = 30_000) => ({
      Type: 'AWS::ApiGatewayV2::Integration',
      Properties: {
        ApiId: ref('Api'),
        IntegrationType: 'AWS_PROXY',
        IntegrationUri: getAtt(id),
        PayloadFormatVersion: '2.0',
        TimeoutInMillis,
      },
    });
    const route = (RouteKey: string, to: string) => ({
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: { ApiId: ref('Api'), RouteKey, Target: { 'Fn::Sub': `integrations/\${${to}}` } },
    });
    const permission = (id: string) => ({
      Type: 'AWS::Lambda::Permission',
      Properties: {
        Action: 'lambda:InvokeFunction',
        FunctionName: getAtt(id),
        Principal: 'apigateway.amazonaws.com',
        SourceArn: {
          'Fn::Join': ['', ['arn:aws:execute-api:us-east-1:', ref('AWS::AccountId'), ':', ref('Api'), '/*/*']],
        },
      },
    });
    here = await deployed(
      owner,
      {
        echo: { code: ECHO },
        odd: { code: ODD, properties: { Timeout: 1, MemorySize: 256 }, env: { OWN: 'value' } },
        slow: { code: SLOW, properties: { ReservedConcurrentExecutions: 1 } },
        broken: { code: "import 'a-package-that-there-is-not'; export const handler = () => {};" },
      },
      {
        Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'api', ProtocolType: 'HTTP' } },
        Stage: {
          Type: 'AWS::ApiGatewayV2::Stage',
          Properties: {
            ApiId: ref('Api'),
            StageName: '$default',
            AutoDeploy: true,
            RouteSettings: { 'GET /limited': { ThrottlingBurstLimit: 2, ThrottlingRateLimit: 0.001 } },
          },
        },
        EchoIntegration: integration('echo'),
        OddIntegration: integration('odd'),
        SlowIntegration: integration('slow'),
        ImpatientIntegration: integration('slow', 50),
        BrokenIntegration: integration('broken'),
        One: route('GET /things/{id}', 'EchoIntegration'),
        Exact: route('GET /things/exact', 'EchoIntegration'),
        All: route('ANY /things/{proxy+}', 'EchoIntegration'),
        Odd: route('GET /odd/{what}', 'OddIntegration'),
        Slow: route('GET /slow', 'SlowIntegration'),
        Impatient: route('GET /impatient', 'ImpatientIntegration'),
        Limited: route('GET /limited', 'EchoIntegration'),
        Broken: route('GET /broken', 'BrokenIntegration'),
        Default: route('$default', 'EchoIntegration'),
        ...Object.fromEntries(['echo', 'odd', 'slow', 'broken'].map((id) => [`${id}Permission`, permission(id)])),
      },
    );
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back, and fail where it is not there
  const echoed = async (path: string, init: RequestInit = {}): Promise<any> =>
    (await fetch(here.address + path, init)).json();
  const get = (path: string) => fetch(here.address + path);

  it('hands a request over in format 2.0', async () => {
    const event = await echoed('/things/a%20b?x=1&y=2&x=3', {
      headers: { 'X-Odd': 'Yes', cookie: 'a=1; b=2', 'user-agent': 'test' },
    });
    assert.equal(event.version, '2.0');
    assert.equal(event.routeKey, 'GET /things/{id}');
    assert.equal(event.rawPath, '/things/a b');
    assert.equal(event.rawQueryString, 'x=1&y=2&x=3');
    assert.deepEqual(event.queryStringParameters, { x: '1,3', y: '2' });
    assert.deepEqual(event.pathParameters, { id: 'a b' });
    assert.deepEqual(event.cookies, ['a=1', 'b=2']);
    assert.equal(event.headers['x-odd'], 'Yes');
    assert.equal(event.headers.cookie, undefined);
    assert.equal(event.isBase64Encoded, false);
    const { http, stage } = event.requestContext;
    assert.deepEqual([http.method, http.path, http.userAgent, stage], ['GET', '/things/a b', 'test', '$default']);
  });

  it('finds the most exact route', async () => {
    const keys = ['/things/exact', '/things/other', '/things/a/b', '/things', '/odder'].map(async (path) => {
      const { routeKey } = await echoed(path);
      return routeKey;
    });
    assert.deepEqual(await Promise.all(keys), [
      'GET /things/exact',
      'GET /things/{id}',
      'ANY /things/{proxy+}',
      '$default',
      '$default',
    ]);
    assert.equal((await echoed('/things/exact', { method: 'POST' })).routeKey, 'ANY /things/{proxy+}');
  });

  it('hands over text as it is, and everything else in base64', async () => {
    const post = (body: string | Buffer, type: string) =>
      echoed('/x', { method: 'POST', body, headers: { 'content-type': type } });
    for (const type of ['application/json', 'text/plain;charset=UTF-8', 'application/problem+json']) {
      const event = await post('{"ä":1}', type);
      assert.deepEqual([event.body, event.isBase64Encoded], ['{"ä":1}', false], type);
    }
    for (const type of ['application/octet-stream', 'application/x-www-form-urlencoded']) {
      const event = await post(Buffer.from([0, 255, 10]), type);
      assert.deepEqual([event.body, event.isBase64Encoded], ['AP8K', true], type);
    }
  });

  it('gives the answer of a function', async () => {
    const created = await get('/odd/created');
    assert.equal(created.status, 201);
    assert.equal(created.headers.get('content-type'), 'text/x');
    assert.equal(created.headers.get('x-number'), '7');
    assert.deepEqual(created.headers.getSetCookie(), ['a=1', 'b=2']);
    assert.equal(await created.text(), 'yes');
    assert.deepEqual([...new Uint8Array(await (await get('/odd/binary')).arrayBuffer())], [0, 255]);
    const nothing = await get('/odd/nothing');
    assert.deepEqual([nothing.status, await nothing.text()], [204, '']);
    const plain = await get('/odd/plain');
    assert.deepEqual([plain.status, await plain.json()], [200, { hello: 'there' }]);
  });

  for (const what of ['throws', 'nonsense', 'huge', 'exits']) {
    it(`says 500 when a function ${what}`, async () => {
      const answer = await get(`/odd/${what}`);
      assert.deepEqual([answer.status, await answer.json()], [500, { message: 'Internal Server Error' }]);
    });
  }

  it('says 500 for a function that cannot be loaded, and why to the person', async () => {
    assert.equal((await get('/broken')).status, 500);
    assert.ok(
      here.trouble.some((line) => /^broken failed: .*a-package-that-there-is-not/.test(line)),
      here.trouble.join('\n'),
    );
  });

  it('ends a function at its timeout, also in the middle of a loop, and starts it anew', async () => {
    const { calls } = await echoed('/odd/environment');
    assert.equal((await echoed('/odd/environment')).calls, calls + 1);
    const answer = await get('/odd/loops');
    assert.deepEqual([answer.status, await answer.json()], [500, { message: 'Internal Server Error' }]);
    assert.ok(
      here.trouble.includes('odd failed: Sandbox.Timedout: Task timed out after 1.00 seconds'),
      here.trouble.join('\n'),
    );
    assert.equal((await echoed('/odd/environment')).calls, 1);
  });

  it('runs a function in its own environment', async () => {
    const { env, context, left } = await echoed('/odd/environment');
    assert.equal(env.OWN, 'value');
    assert.equal(env.PATH, undefined);
    assert.equal(env.AWS_ENDPOINT_URL, here.gatewayAddress);
    assert.equal(env.AWS_ACCESS_KEY_ID, here.createAccessKey('odd'));
    assert.deepEqual(
      [context.functionName, context.memoryLimitInMB, context.invokedFunctionArn],
      ['odd', '256', 'arn:aws:lambda:us-east-1:000000000000:function:odd'],
    );
    assert.ok(left > 0 && left <= 1000, String(left));
  });

  it('says 503 above the reserved concurrency of a function', async () => {
    const answers = await Promise.all([get('/slow'), get('/slow'), get('/slow')]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 503, 503]);
  });

  it('says 503 when an integration takes too long', async () => {
    const answer = await get('/impatient');
    assert.deepEqual([answer.status, await answer.json()], [503, { message: 'Service Unavailable' }]);
  });

  it('says 429 when a route is called too often', async () => {
    const answers = [await get('/limited'), await get('/limited'), await get('/limited')];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 429],
    );
  });

  it('says 413 for more than Lambda takes', async () => {
    const body = 'x'.repeat(6 * 1024 * 1024);
    const answer = await fetch(`${here.address}/x`, { method: 'POST', body });
    assert.equal(answer.status, 413);
  });
});
