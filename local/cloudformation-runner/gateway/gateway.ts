import type { ResourceContext } from '../resource-type.ts';
import { unknownResourceIssue } from '../template-error.ts';
import type { AwsCall, AwsCaller, AwsRequest, AwsResponse, AwsService, Need } from './aws-call.ts';
import { isWrite } from './dynamodb-calls.ts';
import { type AwsError, accessDeniedError, buildErrorResponse } from './errors.ts';
import { identifyCall, parseBody, parseSigner, UnmappedOperationError } from './identify-call.ts';
import { Meter } from './meter.ts';

type GatewayFaults = (call: AwsCall) => Promise<AwsError | undefined> | AwsError | undefined;

interface Backends {
  dynamodb(request: AwsRequest): Promise<AwsResponse>;
  queuesAndBuckets(request: AwsRequest): Promise<AwsResponse>;
  putEvents(body: unknown): AwsResponse;
}

interface GatewayOptions {
  site: ResourceContext;
  backends: Backends;
  listKeyPermissions(need: Need): Need[];
  /** Called for each refused or unknown call, because the function may swallow the error. */
  onRefusal(line: string): void;
}

export class Gateway {
  readonly meter = new Meter();
  faults: GatewayFaults | undefined;
  readonly #site: ResourceContext;
  readonly #backends: Backends;
  readonly #keyNeeds: (need: Need) => Need[];
  readonly #onRefusal: (line: string) => void;
  readonly #callers = new Map<string, AwsCaller>();
  readonly #writeListeners = new Map<string, (() => void)[]>();

  constructor({ site, backends, listKeyPermissions, onRefusal }: GatewayOptions) {
    this.#site = site;
    this.#backends = backends;
    this.#keyNeeds = listKeyPermissions;
    this.#onRefusal = onRefusal;
  }

  addCaller(accessKey: string, caller: AwsCaller): void {
    this.#callers.set(accessKey, caller);
  }

  onWrite(table: string, listener: () => void): void {
    this.#writeListeners.set(table, [...(this.#writeListeners.get(table) ?? []), listener]);
  }

  async handle(request: AwsRequest): Promise<AwsResponse> {
    const { accessKey, service } = parseSigner(request.headers.authorization ?? '');
    if (!service) return this.#rejectCall('dynamodb', UNKNOWN_SERVICE);
    const caller = this.#callers.get(accessKey);
    if (!caller) return this.#rejectCall(service, UNKNOWN_CALLER);
    const body = service === 's3' ? undefined : parseBody(request.body);
    let call: AwsCall;
    try {
      call = identifyCall(service, request, body, caller, this.#site);
    } catch (error) {
      if (error instanceof UnmappedOperationError) {
        return this.#rejectCall(service, { status: 400, code: 'UnknownOperationException', message: error.message });
      }
      return buildErrorResponse(service, { status: 400, code: 'ValidationException', message: String(error) });
    }
    const missing = call.needs
      .flatMap((need) => [need, ...this.#keyNeeds(need)])
      .find(({ action, resource }) => !caller.access.isAllowed(action, resource));
    if (missing)
      return this.#rejectCall(
        service,
        accessDeniedError(service, identifyCaller(caller, this.#site), missing.action, missing.resource),
      );
    const fault = await this.faults?.(call);
    if (fault) {
      this.meter.recordCall(call, body, undefined);
      return buildErrorResponse(service, fault);
    }
    return this.#executeCall(call, request, body, caller);
  }

  async #executeCall(call: AwsCall, request: AwsRequest, body: unknown, caller: AwsCaller): Promise<AwsResponse> {
    if (call.service === 'events') {
      this.meter.recordCall(call, body, undefined);
      return this.#backends.putEvents(body);
    }
    if (call.service === 'dynamodb') {
      const response = await this.#backends.dynamodb(this.meter.isOn ? requestCapacity(request, body) : request);
      if (this.meter.isOn) this.meter.recordCall(call, body, parseBody(response.body));
      if (response.status === 200 && isWrite(call.operation)) this.#onWritten(call);
      return response;
    }
    const response = await this.#backends.queuesAndBuckets(request);
    if (this.meter.isOn)
      this.meter.recordCall(call, body, call.service === 'sqs' ? parseBody(response.body) : undefined);
    return call.service === 's3' && response.status === 404
      ? this.#missingObjectError(call, response, caller)
      : response;
  }

  /** Without ListBucket, S3 answers 403 for a missing object. */
  #missingObjectError(call: AwsCall, response: AwsResponse, caller: AwsCaller): AwsResponse {
    const bucketArn = `arn:aws:s3:::${call.resource}`;
    if (!['GetObject', 'HeadObject'].includes(call.operation)) return response;
    if (caller.access.isAllowed('s3:ListBucket', bucketArn)) return response;
    return this.#rejectCall(
      's3',
      accessDeniedError('s3', identifyCaller(caller, this.#site), 's3:ListBucket', bucketArn),
    );
  }

  #onWritten(call: AwsCall): void {
    const tables = new Set(call.needs.map(({ resource }) => resource.slice(resource.lastIndexOf('/') + 1)));
    for (const table of tables) for (const notify of this.#writeListeners.get(table) ?? []) notify();
  }

  #rejectCall(service: AwsService, error: AwsError): AwsResponse {
    this.#onRefusal(error.message);
    return buildErrorResponse(service, error);
  }
}

const UNKNOWN_CALLER: AwsError = {
  status: 403,
  code: 'UnrecognizedClientException',
  message: 'The security token included in the request is invalid.',
};
const UNKNOWN_SERVICE: AwsError = {
  status: 403,
  code: 'AccessDeniedException',
  message: unknownResourceIssue('a request that is not signed for dynamodb, sqs, s3 or events'),
};

const identifyCaller = ({ name, access }: AwsCaller, { account }: ResourceContext): string =>
  `arn:aws:sts::${account}:assumed-role/${access.roleName}/${name}`;

const requestCapacity = (request: AwsRequest, body: unknown): AwsRequest => ({
  ...request,
  body: Buffer.from(JSON.stringify({ ...Object(body), ReturnConsumedCapacity: 'INDEXES' })),
});
