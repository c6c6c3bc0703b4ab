import type { RoleAccess } from '../iam/role-access.ts';

export interface AwsRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Ends a call that waits, such as a long poll. */
  signal?: AbortSignal;
}

export interface AwsResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Whoever signs with an access key of its own: a function, or a mapping in the name of its function's role. */
export interface AwsCaller {
  name: string;
  access: RoleAccess;
}

export const SERVICES = ['dynamodb', 'sqs', 's3', 'events'] as const;
export type AwsService = (typeof SERVICES)[number];

/** A permission that a call needs. */
export interface Need {
  action: string;
  resource: string;
}

/** A call to AWS as the gateway understands it. */
export interface AwsCall {
  service: AwsService;
  /** As the API names it: `TransactWriteItems`. */
  operation: string;
  /** The table, index, queue, bus or bucket that it is about, by name; the first, where it is about several. */
  resource: string;
  needs: Need[];
  caller: string;
}
