import { z } from 'zod';
import { buildArn, defineResourceType, getPhysicalName } from '../resource-type.ts';

const noEffectHere = z.unknown().optional();

export const Api = defineResourceType(
  'AWS::ApiGatewayV2::Api',
  z.strictObject({
    Name: z.string(),
    ProtocolType: z.literal('HTTP'),
    Description: noEffectHere,
    DisableExecuteApiEndpoint: noEffectHere,
    CorsConfiguration: noEffectHere,
    IpAddressType: noEffectHere,
    Tags: noEffectHere,
  }),
  {
    madeName: (logicalId) => logicalId.toLowerCase(),
    attributes: { ApiEndpoint: ({ logicalId, site }) => site.getAddress(logicalId), ApiId: getPhysicalName },
  },
);

const Throttling = z.strictObject({
  ThrottlingBurstLimit: z.number().int().nonnegative().optional(),
  ThrottlingRateLimit: z.number().nonnegative().optional(),
  DetailedMetricsEnabled: noEffectHere,
});
export type Throttling = z.output<typeof Throttling>;

export const Stage = defineResourceType(
  'AWS::ApiGatewayV2::Stage',
  z.strictObject({
    ApiId: z.string(),
    StageName: z.literal('$default', { error: 'must be $default: the local address has no stage in its path' }),
    AutoDeploy: z.literal(true),
    DefaultRouteSettings: Throttling.optional(),
    RouteSettings: z.record(z.string(), Throttling).default({}),
    AccessLogSettings: noEffectHere,
    Description: noEffectHere,
    Tags: noEffectHere,
  }),
);

const integration = {
  ApiId: z.string(),
  IntegrationUri: z.string(),
  TimeoutInMillis: z.number().int().min(50).max(30_000).default(30_000),
  Description: noEffectHere,
};

export const Integration = defineResourceType(
  'AWS::ApiGatewayV2::Integration',
  z.discriminatedUnion('IntegrationType', [
    z.strictObject({
      ...integration,
      IntegrationType: z.literal('AWS_PROXY'),
      IntegrationMethod: z.string().optional(),
      PayloadFormatVersion: z.literal('2.0'),
    }),
    z.strictObject({
      ...integration,
      IntegrationType: z.literal('HTTP_PROXY'),
      IntegrationMethod: z.literal('ANY'),
      PayloadFormatVersion: z.literal('1.0'),
      ConnectionType: z.literal('VPC_LINK'),
      ConnectionId: z.string(),
    }),
  ]),
);

export const ApiRouteType = defineResourceType(
  'AWS::ApiGatewayV2::Route',
  z.strictObject({
    ApiId: z.string(),
    RouteKey: z.string().regex(/^\$default$|^(ANY|GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \/\S*$/),
    Target: z.string().startsWith('integrations/'),
    AuthorizationType: z.literal('NONE').default('NONE'),
  }),
);

export const DomainName = defineResourceType(
  'AWS::ApiGatewayV2::DomainName',
  z.strictObject({ DomainName: z.string(), DomainNameConfigurations: noEffectHere, Tags: noEffectHere }),
  {
    nameProperty: 'DomainName',
    attributes: {
      RegionalDomainName: ({ name }) => `${name}.local`,
      RegionalHostedZoneId: getPhysicalName,
      DomainNameArn: buildArn('apigateway', (name) => `/domainnames/${name}`),
    },
  },
);

export const ApiMapping = defineResourceType(
  'AWS::ApiGatewayV2::ApiMapping',
  z.strictObject({ ApiId: z.string(), DomainName: z.string(), Stage: z.string(), ApiMappingKey: noEffectHere }),
);
