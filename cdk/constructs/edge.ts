import { Duration, Fn, RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AllowedMethods,
  CachePolicy,
  Distribution,
  OriginProtocolPolicy,
  OriginRequestPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import type { EdgeConfig } from '../../shared/config/edge-config.ts';
import { EDGE_HEADER } from '../../shared/kernel/edge-header.ts';

/** Longer than any call waits. */
const ANSWER_TIMEOUT = Duration.seconds(60);

/** The distribution and the functions have the same one; nothing else does. */
export const createEdgeSecret = (scope: Construct, stage: string): string => {
  const secret = new Secret(scope, 'EdgeSecret', {
    secretName: `parley-${stage}-edge`,
    description: 'What CloudFront says to the functions, so that they refuse calls that pass it by',
    generateSecretString: { passwordLength: 48, excludePunctuation: true },
    removalPolicy: RemovalPolicy.DESTROY,
  });
  Validations.of(secret).acknowledge({
    id: 'AwsSolutions-SMG4',
    reason: 'A new one would have to reach CloudFront and all functions at the same moment.',
  });
  return secret.secretValue.unsafeUnwrap();
};

/** CloudFront with a firewall before the API. */
export class Edge extends Construct {
  readonly url: string;
  readonly target: string;

  constructor(
    scope: Construct,
    id: string,
    { stage, edge, api, secret }: { stage: string; edge: EdgeConfig; api: HttpApi; secret: string },
  ) {
    super(scope, id);
    const { domain } = edge;
    const distribution = new Distribution(this, 'Distribution', {
      comment: `parley-${stage}`,
      webAclId: edge.webAclArn ?? this.#createFirewall(stage, edge),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      ...(domain && {
        domainNames: [domain.name],
        certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
      }),
      defaultBehavior: {
        origin: new HttpOrigin(Fn.select(2, Fn.split('/', api.apiEndpoint)), {
          protocolPolicy: OriginProtocolPolicy.HTTPS_ONLY,
          readTimeout: ANSWER_TIMEOUT,
          customHeaders: { [EDGE_HEADER]: secret },
        }),
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
        allowedMethods: AllowedMethods.ALLOW_ALL,
        cachePolicy: CachePolicy.CACHING_DISABLED,
        originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
        compress: true,
      },
    });
    for (const [rule, reason] of Object.entries(ACKNOWLEDGED))
      Validations.of(distribution).acknowledge({ id: `AwsSolutions-${rule}`, reason });
    this.url = `https://${domain?.name ?? distribution.distributionDomainName}`;
    this.target = distribution.distributionDomainName;
  }

  /** CloudFront takes a firewall of us-east-1 alone. */
  #createFirewall(stage: string, { rate, managedRules }: EdgeConfig): string {
    const seen = (metricName: string) => ({
      metricName,
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: true,
    });
    return new CfnWebACL(this, 'Firewall', {
      name: `parley-${stage}`,
      scope: 'CLOUDFRONT',
      defaultAction: { allow: {} },
      visibilityConfig: seen(`parley-${stage}`),
      rules: [
        {
          name: 'rate',
          priority: 0,
          action: { block: { customResponse: { responseCode: 429 } } },
          statement: { rateBasedStatement: { limit: rate, aggregateKeyType: 'IP', evaluationWindowSec: 300 } },
          visibilityConfig: seen('rate'),
        },
        ...managedRules.map((name, index) => ({
          name,
          priority: index + 1,
          overrideAction: { none: {} },
          statement: { managedRuleGroupStatement: { vendorName: 'AWS', name } },
          visibilityConfig: seen(name),
        })),
      ],
    }).attrArn;
  }
}

const ACKNOWLEDGED = {
  CFR1: 'Agents may be in any country.',
  CFR3: 'The API behind it has an access log, with the address of the caller.',
  CFR4: 'Without a domain of its own, a distribution has the certificate of CloudFront.',
};
