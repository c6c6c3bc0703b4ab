import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { routes } from '../../shared/http/routes/routes.ts';
import { HTTP_FUNCTIONS, Reference, synthesized } from './synthesized.ts';

const { all } = synthesized();

/** `POST /v1/messages` → `ingest`, by API Gateway's rules: a full match before a greedy one, a method before ANY. */
const functionBehind = (): ((method: string, path: string) => string | undefined) => {
  const named = all('AWS::Lambda::Function', z.object({ FunctionName: z.string() }));
  const integrations = new Map(
    all(
      'AWS::ApiGatewayV2::Integration',
      z.object({ IntegrationUri: Reference, PayloadFormatVersion: z.literal('2.0') }),
    ).map(({ id, properties }) => [
      id,
      named.find((of) => of.id === properties.IntegrationUri)?.properties.FunctionName,
    ]),
  );
  const Target = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.tuple([z.literal('integrations/'), Reference])]) });
  const targets = new Map(
    all('AWS::ApiGatewayV2::Route', z.object({ RouteKey: z.string(), Target })).map(({ properties }) => [
      properties.RouteKey,
      integrations.get(properties.Target['Fn::Join'][1][1])?.replace('parley-test-', ''),
    ]),
  );
  const listGreedy = (path: string): string[] => {
    const steps = path.split('/');
    return steps.map((_, at) => `${steps.slice(0, at).join('/')}/{proxy+}`).toReversed();
  };
  return (method, path) =>
    [...[path, ...listGreedy(path)].flatMap((one) => [`${method} ${one}`, `ANY ${one}`]), '$default']
      .map((key) => targets.get(key))
      .find((name) => name !== undefined);
};

describe('the HTTP API', () => {
  const behind = functionBehind();

  it('brings every call of the contract to the function that is made for it', () => {
    const expected = [
      [/^POST \/v1\/messages$/, 'ingest'],
      [/^\w+ \/v1\/(claims|inbox)/, 'claims'],
      [
        /^\w+ \/v1\/(tasks|limits|dead|graphs|batches|operations|schedules|queues|stats|messages\/|broadcasts|cards|boxes|relay\/|turns)/,
        'tasks',
      ],
      [/./, 'api'],
    ] as const;
    for (const { method, path } of routes) {
      const name = expected.find(([calls]) => calls.test(`${method} ${path}`))?.[1];
      assert.equal(behind(method, path), name, `${method} ${path}`);
    }
  });

  it('brings everything else to the function that says what is wrong with it', () => {
    assert.equal(behind('GET', '/v1/messages'), 'api');
    assert.equal(behind('GET', '/nothing/here'), 'api');
  });

  it('may call the functions behind its routes, and is the only one to do so over HTTP', () => {
    const Permission = z.object({ FunctionName: Reference, Principal: z.string(), SourceArn: z.unknown() });
    const callers = all('AWS::Lambda::Permission', Permission).filter(
      ({ properties }) => properties.Principal !== 'events.amazonaws.com',
    );
    for (const { properties } of callers) assert.equal(properties.Principal, 'apigateway.amazonaws.com');
    assert.equal(new Set(callers.map(({ properties }) => properties.FunctionName)).size, HTTP_FUNCTIONS.size);
    assert.deepEqual(all('AWS::Lambda::Url', z.unknown()), []);
  });

  it('is throttled as configured, each route by itself, and those of all day less than others', () => {
    const Throttling = z.object({ ThrottlingRateLimit: z.number(), ThrottlingBurstLimit: z.number() });
    const { all: allOf, template } = synthesized({ throttle: { rate: 7, burst: 9, otherRate: 2, otherBurst: 3 } });
    const [stage] = allOf(
      'AWS::ApiGatewayV2::Stage',
      z.object({ DefaultRouteSettings: Throttling, RouteSettings: z.record(z.string(), Throttling) }),
    );
    assert.ok(stage);
    const { DefaultRouteSettings, RouteSettings } = stage.properties;
    assert.deepEqual(DefaultRouteSettings, { ThrottlingRateLimit: 2, ThrottlingBurstLimit: 3 });
    const keys = allOf('AWS::ApiGatewayV2::Route', z.object({ RouteKey: z.string() })).map(
      ({ properties }) => properties.RouteKey,
    );
    for (const [key, settings] of Object.entries(RouteSettings)) {
      assert.ok(keys.includes(key), key);
      assert.deepEqual(settings, { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 });
    }
    assert.ok('POST /v1/messages' in RouteSettings && 'POST /v1/claims' in RouteSettings);
    // Settings of a route that is not there yet fail the deployment.
    assert.equal(template.Resources[stage.id]?.DependsOn.length, Object.keys(RouteSettings).length);
  });

  it('has no second address beside a domain, and answers pages of the origins that may call it', () => {
    const Api = z.object({
      DisableExecuteApiEndpoint: z.boolean().optional(),
      CorsConfiguration: z.object({ AllowOrigins: z.array(z.string()) }).optional(),
    });
    const apiOf = (aws: Parameters<typeof synthesized>[0]) =>
      synthesized(aws).all('AWS::ApiGatewayV2::Api', Api)[0]?.properties;
    const certificateArn = 'arn:aws:acm:eu-central-1:123456789012:certificate/x';
    assert.equal(apiOf({ domain: { name: 'parley.example.com', certificateArn } })?.DisableExecuteApiEndpoint, true);
    assert.deepEqual(apiOf({}), {});
    const corsOrigins = ['https://console.example.com'];
    assert.deepEqual(apiOf({ corsOrigins })?.CorsConfiguration?.AllowOrigins, corsOrigins);
  });

  it('counts what is refused with 401 and 429 by the access log', () => {
    const Filter = z.object({
      FilterPattern: z.string(),
      MetricTransformations: z.array(z.object({ MetricName: z.string() })),
    });
    const filters = all('AWS::Logs::MetricFilter', Filter).map(({ properties }) => [
      properties.FilterPattern,
      properties.MetricTransformations[0]?.MetricName,
    ]);
    assert.deepEqual(filters, [
      ['{ $.status = "401" }', 'unauthorized_calls'],
      ['{ $.status = "429" }', 'throttled_calls'],
    ]);
  });

  it('logs each call as JSON, without a header, a query or a body', () => {
    const Stage = z.object({ AccessLogSettings: z.object({ Format: z.string(), DestinationArn: Reference }) });
    const [stage] = all('AWS::ApiGatewayV2::Stage', Stage);
    assert.ok(stage);
    const format = z.record(z.string(), z.string()).parse(JSON.parse(stage.properties.AccessLogSettings.Format));
    for (const value of Object.values(format)) {
      assert.match(value, /^\$context\./);
      assert.doesNotMatch(value, /header|authorizer|query|body|protocol/i);
    }
    assert.match(stage.properties.AccessLogSettings.DestinationArn, /^HttpAccessLog/);
  });

  it('lets no browser of another origin in', () => {
    const [api] = all(
      'AWS::ApiGatewayV2::Api',
      z.object({ CorsConfiguration: z.never().optional(), ProtocolType: z.literal('HTTP') }),
    );
    assert.ok(api);
  });

  it('has a name of its own where one is configured', () => {
    const name = 'parley.example.com';
    const certificateArn = 'arn:aws:acm:eu-central-1:111122223333:certificate/1';
    const named = synthesized({ domain: { name, certificateArn } });
    const [domain] = named.all('AWS::ApiGatewayV2::DomainName', z.object({ DomainName: z.string() }));
    assert.equal(domain?.properties.DomainName, name);
    assert.equal(named.all('AWS::ApiGatewayV2::ApiMapping', z.unknown()).length, 1);
    assert.equal(named.template.Outputs.Endpoint?.Value, `https://${name}`);
    assert.ok(named.template.Outputs.DomainTarget);
    assert.deepEqual(all('AWS::ApiGatewayV2::DomainName', z.unknown()), []);
  });
});
