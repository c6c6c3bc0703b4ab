import type { Site } from '../kind.ts';
import { notKnown } from '../template-error.ts';
import type { AwsCall, AwsRequest, AwsResponse, Caller, Need, Service } from './aws-call.ts';
import { isWrite } from './dynamodb-calls.ts';
import { type AwsError, denied, errorResponse } from './errors.ts';
import { callOf, parsedBody, signerOf, UnmappedOperation } from './identify-call.ts';
import { Meter } from './meter.ts';

/** Decides before a call is carried out: an error answers it, nothing lets it pass. It may wait first. */
type Faults = (call: AwsCall) => Promise<AwsError | undefined> | AwsError | undefined;

interface Backends {
  dynamodb(request: AwsRequest): Promise<AwsResponse>;
  queuesAndBuckets(request: AwsRequest): Promise<AwsResponse>;
  putEvents(body: unknown): AwsResponse;
}

interface GatewayOptions {
  site: Site;
  backends: Backends;
  /** What a permission needs of the key that its resource is encrypted with. */
  keyNeeds(need: Need): Need[];
  /** Told of what was refused or not understood, because the function that made the call may keep it to itself. */
  onRefusal(line: string): void;
}

/** The one endpoint for all calls of the functions to AWS: who may do what is decided here. */
export class Gateway {
  readonly meter = new Meter();
  faults: Faults | undefined;
  readonly #site: Site;
  readonly #backends: Backends;
  readonly #keyNeeds: (need: Need) => Need[];
  readonly #onRefusal: (line: string) => void;
  readonly #callers = new Map<string, Caller>();
  readonly #writeListeners = new Map<string, (() => void)[]>();

  constructor({ site, backends, keyNeeds, onRefusal }: GatewayOptions) {
    this.#site = site;
    this.#backends = backends;
    this.#keyNeeds = keyNeeds;
    this.#onRefusal = onRefusal;
  }

  addCaller(accessKey: string, caller: Caller): void {
    this.#callers.set(accessKey, caller);
  }

  /** Calls back after each write to the table, so that its stream need not be asked all the time. */
  onWrite(table: string, listener: () => void): void {
    this.#writeListeners.set(table, [...(this.#writeListeners.get(table) ?? []), listener]);
  }

  async handle(request: AwsRequest): Promise<AwsResponse> {
    const { accessKey, service } = signerOf(request.headers.authorization ?? '');
    if (!service) return this.#refuse('dynamodb', UNKNOWN_SERVICE);
    const caller = this.#callers.get(accessKey);
    if (!caller) return this.#refuse(service, UNKNOWN_CALLER);
    const body = service === 's3' ? undefined : parsedBody(request.body);
    let call: AwsCall;
    try {
      call = callOf(service, request, body, caller, this.#site);
    } catch (error) {
      if (error instanceof UnmappedOperation) {
        return this.#refuse(service, { status: 400, code: 'UnknownOperationException', message: error.message });
      }
      return errorResponse(service, { status: 400, code: 'ValidationException', message: String(error) });
    }
    const missing = call.needs
      .flatMap((need) => [need, ...this.#keyNeeds(need)])
      .find(({ action, resource }) => !caller.access.allows(action, resource));
    if (missing)
      return this.#refuse(service, denied(service, whoIs(caller, this.#site), missing.action, missing.resource));
    const fault = await this.faults?.(call);
    if (fault) {
      this.meter.call(call, body, undefined);
      return errorResponse(service, fault);
    }
    return this.#carryOut(call, request, body, caller);
  }

  async #carryOut(call: AwsCall, request: AwsRequest, body: unknown, caller: Caller): Promise<AwsResponse> {
    if (call.service === 'events') {
      this.meter.call(call, body, undefined);
      return this.#backends.putEvents(body);
    }
    if (call.service === 'dynamodb') {
      const response = await this.#backends.dynamodb(this.meter.isOn ? askingForCapacity(request, body) : request);
      if (this.meter.isOn) this.meter.call(call, body, parsedBody(response.body));
      if (response.status === 200 && isWrite(call.operation)) this.#written(call);
      return response;
    }
    const response = await this.#backends.queuesAndBuckets(request);
    if (this.meter.isOn) this.meter.call(call, body, call.service === 'sqs' ? parsedBody(response.body) : undefined);
    return call.service === 's3' && response.status === 404 ? this.#missingObject(call, response, caller) : response;
  }

  /** S3 tells only those that may list a bucket that an object is not there; the others are refused. */
  #missingObject(call: AwsCall, response: AwsResponse, caller: Caller): AwsResponse {
    const bucketArn = `arn:aws:s3:::${call.resource}`;
    if (!['GetObject', 'HeadObject'].includes(call.operation)) return response;
    if (caller.access.allows('s3:ListBucket', bucketArn)) return response;
    return this.#refuse('s3', denied('s3', whoIs(caller, this.#site), 's3:ListBucket', bucketArn));
  }

  #written(call: AwsCall): void {
    const tables = new Set(call.needs.map(({ resource }) => resource.slice(resource.lastIndexOf('/') + 1)));
    for (const table of tables) for (const tell of this.#writeListeners.get(table) ?? []) tell();
  }

  #refuse(service: Service, error: AwsError): AwsResponse {
    this.#onRefusal(error.message);
    return errorResponse(service, error);
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
  message: notKnown('a request that is not signed for dynamodb, sqs, s3 or events'),
};

const whoIs = ({ name, access }: Caller, { account }: Site): string =>
  `arn:aws:sts::${account}:assumed-role/${access.roleName}/${name}`;

const askingForCapacity = (request: AwsRequest, body: unknown): AwsRequest => ({
  ...request,
  body: Buffer.from(JSON.stringify({ ...Object(body), ReturnConsumedCapacity: 'INDEXES' })),
});
