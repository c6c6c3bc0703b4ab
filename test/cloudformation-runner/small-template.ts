import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after } from 'node:test';
import { build } from 'esbuild';
import {
  type RunningTemplate,
  startTemplate,
  type TemplateOptions,
} from '../../local/cloudformation-runner/start-template.ts';
import { atEndOf, type Owner } from '../support/server-process.ts';
import { SHORT_LIVED_JAVA } from '../support/short-lived-java.ts';

Object.assign(process.env, SHORT_LIVED_JAVA);

const ROOT = resolve(import.meta.dirname, '../..');

interface SmallFunction {
  /** The source of the bundle: a module that exports `handler`. */
  code: string;
  env?: Record<string, unknown>;
  allow?: { Action: string | string[]; Resource: unknown }[];
  properties?: Record<string, unknown>;
}

type Resources = Record<string, { Type: string; Properties?: object; [key: string]: unknown }>;

export const getAtt = (logicalId: string, attribute = 'Arn') => ({ 'Fn::GetAtt': [logicalId, attribute] });
export const ref = (logicalId: string) => ({ Ref: logicalId });

const policyDocument = (Statement: object[]) => ({ Version: '2012-10-17', Statement });

/** A function with a role of its own, as CDK writes them. */
const functionResources = (id: string, { env = {}, allow = [], properties = {} }: SmallFunction): Resources => ({
  [`${id}Role`]: {
    Type: 'AWS::IAM::Role',
    Properties: {
      AssumeRolePolicyDocument: policyDocument([
        { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } },
      ]),
    },
  },
  ...(allow.length > 0 && {
    [`${id}Policy`]: {
      Type: 'AWS::IAM::Policy',
      Properties: {
        PolicyName: `${id}Policy`,
        PolicyDocument: policyDocument(allow.map((statement) => ({ Effect: 'Allow', ...statement }))),
        Roles: [ref(`${id}Role`)],
      },
    },
  }),
  [id]: {
    Type: 'AWS::Lambda::Function',
    Metadata: { 'aws:asset:path': `asset.${id}` },
    Properties: {
      Code: { S3Bucket: 'assets', S3Key: `${id}.zip` },
      Handler: 'index.handler',
      Runtime: 'nodejs24.x',
      FunctionName: id,
      Role: getAtt(`${id}Role`),
      Environment: { Variables: env },
      ...properties,
    },
  },
});

export const TABLE = {
  Table: {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      TableName: 'things',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: ['pk', 'sk', 'colour'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-colour',
          KeySchema: [{ AttributeName: 'colour', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
      ],
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
    },
  },
} satisfies Resources;

/** What a suite starts in its `before` ends with the suite; to be called while the suite is described. */
export const wholeSuite = (): Owner => {
  const cleanUps: (() => unknown)[] = [];
  after(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  });
  return { after: (cleanUp) => void cleanUps.push(cleanUp) };
};

/** The ARN of a resource with something behind it. */
export const below = (logicalId: string, path: string) => ({ 'Fn::Join': ['', [getAtt(logicalId), path]] });

export const tempFolder = (owner: Owner): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-template-'));
  atEndOf(owner, () => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** Bundles the functions into a folder of assets, and gives the template that has them and the other resources. */
export const smallTemplate = async (
  assets: string,
  functions: Record<string, SmallFunction>,
  others: Resources = {},
): Promise<{ Resources: Resources }> => {
  for (const [id, { code }] of Object.entries(functions)) {
    const folder = join(assets, `asset.${id}`);
    mkdirSync(folder, { recursive: true });
    if (!code.includes('@aws-sdk/')) writeFileSync(join(folder, 'index.mjs'), code);
    else {
      await build({
        stdin: { contents: code, resolveDir: ROOT },
        outfile: join(folder, 'index.mjs'),
        bundle: true,
        platform: 'node',
        format: 'esm',
        minify: true,
        logLevel: 'error',
        banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      });
    }
  }
  const own = Object.entries(functions).map(([id, each]) => functionResources(id, each));
  return { Resources: Object.assign({}, ...own, others) };
};

export interface SmallDeployment extends RunningTemplate {
  dir: string;
  trouble: string[];
}

/** Runs a small template until its owner ends. */
export const deployed = async (
  owner: Owner,
  functions: Record<string, SmallFunction>,
  others: Resources = {},
  options: Partial<TemplateOptions> = {},
): Promise<SmallDeployment> => {
  const dir = options.dir ?? tempFolder(owner);
  const assets = tempFolder(owner);
  const trouble: string[] = [];
  const template = await smallTemplate(assets, functions, others);
  const running = await startTemplate({ template, assets, onTrouble: (line) => trouble.push(line), ...options, dir });
  atEndOf(owner, () => running.stop());
  return { ...running, dir, trouble };
};
