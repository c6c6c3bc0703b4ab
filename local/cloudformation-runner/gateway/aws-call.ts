import type { RoleAccess } from '../iam/role-access.ts';

export interface AwsRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  signal?: AbortSignal;
}

export interface AwsResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

export interface AwsCaller {
  name: string;
  access: RoleAccess;
}

export const SERVICES = ['dynamodb', 'sqs', 's3', 'events'] as const;
export type AwsService = (typeof SERVICES)[number];

export interface Need {
  action: string;
  resource: string;
}

export interface AwsCall {
  service: AwsService;
  operation: string;
  /** By name; the first one if the call is about several. */
  resource: string;
  needs: Need[];
  caller: string;
}
