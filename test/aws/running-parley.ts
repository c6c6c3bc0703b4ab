import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { z } from 'zod';
import {
  buildJsonRequest,
  buildQueueUrl,
  loadOrSynthesize,
  parseJsonResponse,
  RoleAccess,
  type RunningTemplate,
  startTemplate,
  type TemplateOptions,
} from '../../local/cloudformation-runner/index.ts';
import { type Caller, callerWith, httpTransport, registered, type TestAgent, type Transport } from '../support/api.ts';
import { atEndOf, type Owner, tempDir } from '../support/server-process.ts';
import { SHORT_LIVED_JAVA } from '../support/short-lived-java.ts';
import { type Changes, changedTemplate } from './changed-template.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const APP = { file: 'test/aws/app/app.ts', out: '.cache/test-template' };
const REGION = 'us-east-1';
const ACCOUNT = '000000000000';
const TEST_KEY = 'ASIATHETESTITSELF';

const Outputs = z.object({
  TableName: z.string(),
  ContentBucketName: z.string(),
  FailureBucketName: z.string(),
  QueuePrefix: z.string(),
});

/** The synthesized stack with its functions, running until its owner ends. */
export interface RunningParley extends RunningTemplate {
  dir: string;
  /** What the runner complained about. */
  trouble: string[];
  transport: Transport;
  admin: Caller;
  table: string;
  content: string;
  failures: string;
  agent(id: string, registration?: object): Promise<TestAgent>;
  /** The administrator of a project, with a new key. */
  adminOf(project: string): Promise<Caller>;
  /** A call to AWS that no policy restricts. */
  aws(service: 'dynamodb' | 'sqs', operation: string, body: object): Promise<unknown>;
  /** The same for S3: a path begins with the bucket. */
  s3(method: 'GET' | 'PUT' | 'DELETE', path: string, body?: string): Promise<string>;
  /** Of a queue by what its name has after product and stage. */
  queue(name: string): string;
  /** What a function answers that somebody invokes by hand. */
  ask(name: string, payload: unknown): Promise<unknown>;
}

export interface ParleyOptions extends Changes {
  template?: Pick<TemplateOptions, 'scheduleMinuteMs' | 'containers' | 'accountConcurrency'>;
  app?: typeof APP;
  /** Where an earlier one has run. */
  dir?: string;
}

export const runParley = async (owner: Owner, options: ParleyOptions = {}): Promise<RunningParley> => {
  Object.assign(process.env, SHORT_LIVED_JAVA);
  const { template, assets } = await loadOrSynthesize(ROOT, () => {}, options.app ?? APP);
  const dir = options.dir ?? tempDir(owner);
  const trouble: string[] = [];
  const running = await startTemplate({
    template: changedTemplate(template, options),
    assets,
    dir,
    onTrouble: (line) => trouble.push(line),
    ...options.template,
  });
  atEndOf(owner, () => running.stop());
  const { gateway, address, invoke, findFunctionName } = running;
  const {
    TableName: table,
    ContentBucketName: content,
    FailureBucketName: failures,
    QueuePrefix: prefix,
  } = Outputs.parse(running.outputs);
  const unrestricted = new RoleAccess('the test', [{ Effect: 'Allow', Action: ['*'], Resource: ['*'] }]);
  gateway.addCaller(TEST_KEY, { name: 'the test', access: unrestricted });
  const ask = async (name: string, payload: unknown): Promise<unknown> => {
    const result = await invoke(findFunctionName(name), payload);
    assert.equal(result.ok, true, JSON.stringify(result));
    return result.ok === true ? JSON.parse(result.result) : undefined;
  };
  const transport = httpTransport(address);
  const adminOf = async (project: string): Promise<Caller> => {
    const { key } = z.object({ key: z.string() }).parse(await ask('admin-key', { project }));
    return callerWith(transport, key);
  };
  const admin = await adminOf('default');
  return {
    ...running,
    dir,
    trouble,
    transport,
    admin,
    table,
    content,
    failures,
    ask,
    adminOf,
    agent: (id, registration) => registered(transport, admin, id, registration),
    aws: async (service, operation, body) => {
      const target = `${service === 'sqs' ? 'AmazonSQS' : 'DynamoDB_20120810'}.${operation}`;
      return parseJsonResponse(target, await gateway.handle(buildJsonRequest(TEST_KEY, REGION, service, target, body)));
    },
    s3: async (method, path, body = '') => {
      const { authorization = '' } = buildJsonRequest(TEST_KEY, REGION, 's3', '', {}).headers;
      const answer = await gateway.handle({ method, path, headers: { authorization }, body: Buffer.from(body) });
      assert.ok(answer.status < 300, answer.body.toString());
      return answer.body.toString();
    },
    queue: (name) => buildQueueUrl(REGION, ACCOUNT, prefix + name),
  };
};
