import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import { DEFAULT_ROUTE_FUNCTION, type FunctionName, ROUTES } from '../function-specs.ts';
import type { ParleyFunction } from './parley-function.ts';

export interface HttpApiProps {
  aws: AwsConfig;
  functions: Record<FunctionName, ParleyFunction>;
  key?: IKey;
}

/** No headers and no bodies: they contain keys and payloads. */
const ACCESS_LOG = {
  time: '$context.requestTime',
  requestId: '$context.requestId',
  ip: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  path: '$context.path',
  route: '$context.routeKey',
  status: '$context.status',
  latencyMs: '$context.responseLatency',
  integrationMs: '$context.integrationLatency',
  bytes: '$context.responseLength',
  error: '$context.error.message',
  integrationError: '$context.integrationErrorMessage',
};

const METHODS = { ANY: HttpMethod.ANY, POST: HttpMethod.POST };

export class ParleyHttpApi extends Construct {
  readonly api: HttpApi;
  readonly url: string;
  readonly domainTarget?: string;

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id);
    const { stage, throttle, domain, logDays } = props.aws;
    this.api = new HttpApi(this, 'Api', { apiName: `parley-${stage}`, createDefaultStage: false });
    this.addRoutes(props.functions);
    const log = new LogGroup(this, 'AccessLog', {
      // Log groups under `/aws/vendedlogs/` need no entry in the account's log resource policy, whose size is limited.
      logGroupName: `/aws/vendedlogs/parley-${stage}-access`,
      retention: logDays,
      encryptionKey: props.key,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const httpStage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttle.rate, burstLimit: throttle.burst },
      accessLogSettings: {
        destination: new LogGroupLogDestination(log),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    this.url = domain ? `https://${domain.name}` : this.api.apiEndpoint;
    if (domain) this.domainTarget = this.addDomain(httpStage, domain);
  }

  private addRoutes(functions: HttpApiProps['functions']): void {
    const integrations = new Map<FunctionName, HttpLambdaIntegration>();
    const addRoute = (key: HttpRouteKey, to: FunctionName) => {
      const integration = integrations.get(to) ?? new HttpLambdaIntegration(to, functions[to].lambda);
      integrations.set(to, integration);
      const route = new HttpRoute(this, key.key, { httpApi: this.api, routeKey: key, integration });
      Validations.of(route).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          "Agents' keys are Parley's own records: the function behind the route checks them, as it does on any engine.",
      });
    };
    for (const { method, path, to } of ROUTES) addRoute(HttpRouteKey.with(path, METHODS[method]), to);
    addRoute(HttpRouteKey.DEFAULT, DEFAULT_ROUTE_FUNCTION);
  }

  private addDomain(stage: HttpStage, { name, certificateArn }: NonNullable<AwsConfig['domain']>): string {
    const domainName = new DomainName(this, 'Domain', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
    });
    new ApiMapping(this, 'Mapping', { api: this.api, domainName, stage });
    return domainName.regionalDomainName;
  }
}
