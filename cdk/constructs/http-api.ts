import { Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
  CfnRoute,
  CfnStage,
  CorsHttpMethod,
  type CorsPreflightOptions,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpRoute,
  type HttpRouteIntegration,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { FilterPattern, LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import { DEFAULT_ROUTE_FUNCTION, type FunctionName, ROUTES, WAITER_ROUTES } from '../function-specs.ts';
import { ACCESS_LOG } from './access-log.ts';
import { METRIC_PERIOD } from './metric-period.ts';
import type { ParleyFunction } from './parley-function.ts';

export interface HttpApiProps {
  aws: AwsConfig;
  functions: Record<FunctionName, ParleyFunction>;
  /** For what waits, if the stack has one. */
  waiter?: HttpRouteIntegration | undefined;
  key: IKey | undefined;
  logRemoval: RemovalPolicy;
}

/** The calls of a task cycle and of waiting; each has its own bucket. */
const BUSY_PATHS = ['/v1/messages', '/v1/claims', '/v1/inbox', '/v1/inbox/ack', '/v1/tasks', '/v1/tasks/{proxy+}'];

const CORS: CorsPreflightOptions = {
  allowMethods: [CorsHttpMethod.ANY],
  allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'parley-dialect', 'traceparent'],
  exposeHeaders: ['parley-cursor', 'retry-after', 'traceparent'],
  maxAge: Duration.hours(1),
};

export interface RefusedCallMetrics {
  unauthorized: Metric;
  throttled: Metric;
}

const METHODS = { ANY: HttpMethod.ANY, POST: HttpMethod.POST };

export class ParleyHttpApi extends Construct {
  readonly api: HttpApi;
  readonly url: string;
  readonly domainTarget?: string;
  readonly refusedCalls: RefusedCallMetrics;
  private readonly routes: HttpRoute[] = [];

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id);
    const { stage, throttle, domain, corsOrigins, logDays } = props.aws;
    this.api = new HttpApi(this, 'Api', {
      apiName: `parley-${stage}`,
      createDefaultStage: false,
      // Whoever knows the other address would pass by whatever stands before the domain.
      ...(domain && { disableExecuteApiEndpoint: true }),
      ...(corsOrigins && { corsPreflight: { ...CORS, allowOrigins: corsOrigins } }),
    });
    this.addRoutes(props);
    const log = new LogGroup(this, 'AccessLog', {
      // Log groups under `/aws/vendedlogs/` need no entry in the account's log resource policy, whose size is limited.
      logGroupName: `/aws/vendedlogs/parley-${stage}-access`,
      retention: logDays,
      encryptionKey: props.key,
      removalPolicy: props.logRemoval,
    });
    const httpStage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttle.otherRate, burstLimit: throttle.otherBurst },
      accessLogSettings: {
        destination: new LogGroupLogDestination(log),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    const busy = { ThrottlingRateLimit: throttle.rate, ThrottlingBurstLimit: throttle.burst };
    const routes = ROUTES.filter(({ path }) => BUSY_PATHS.includes(path)).map(
      ({ method, path }) => `${method} ${path}`,
    );
    const { defaultChild } = httpStage.node;
    if (!(defaultChild instanceof CfnStage)) throw new Error('the stage is no stage of CloudFormation');
    defaultChild.addPropertyOverride('RouteSettings', Object.fromEntries(routes.map((key) => [key, busy])));
    // CloudFormation rejects settings of a route that is not there yet.
    for (const route of this.routes) {
      const { defaultChild: found } = route.node;
      if (found instanceof CfnRoute && routes.includes(found.routeKey)) defaultChild.addDependency(found);
    }
    this.refusedCalls = {
      unauthorized: this.countStatus(log, stage, 401, 'unauthorized_calls'),
      throttled: this.countStatus(log, stage, 429, 'throttled_calls'),
    };
    this.url = domain ? `https://${domain.name}` : this.api.apiEndpoint;
    if (domain) this.domainTarget = this.addDomain(httpStage, domain);
  }

  private addRoutes({ functions, waiter }: HttpApiProps): void {
    const integrations = new Map<FunctionName, HttpLambdaIntegration>();
    const addRoute = (key: HttpRouteKey, to: FunctionName) => {
      const integration =
        integrations.get(to) ?? new HttpLambdaIntegration(to, functions[to].alias ?? functions[to].lambda);
      integrations.set(to, integration);
      const isWaiting = waiter !== undefined && WAITER_ROUTES.includes(key.key);
      const route = new HttpRoute(this, key.key, {
        httpApi: this.api,
        routeKey: key,
        integration: isWaiting ? waiter : integration,
      });
      this.routes.push(route);
      Validations.of(route).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          "Agents' keys are Parley's own records: the function behind the route checks them, as it does on any engine.",
      });
    };
    for (const { method, path, to } of ROUTES) addRoute(HttpRouteKey.with(path, METHODS[method]), to);
    addRoute(HttpRouteKey.DEFAULT, DEFAULT_ROUTE_FUNCTION);
  }

  /** By the access log: API Gateway counts all 4xx as one. */
  private countStatus(logGroup: LogGroup, stage: string, status: number, metricName: string): Metric {
    const filter = new MetricFilter(this, `Status${status}`, {
      logGroup,
      filterPattern: FilterPattern.stringValue('$.status', '=', String(status)),
      metricNamespace: `Parley/${stage}`,
      metricName,
    });
    return filter.metric({ period: METRIC_PERIOD, statistic: 'Sum' });
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
