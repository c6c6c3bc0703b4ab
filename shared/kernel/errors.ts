import type { JsonObject } from './json/json.ts';

/** What can go wrong, as callers see it. A code never changes its meaning. */
export const STATUS_BY_CODE = {
  invalid_json: 400,
  invalid_message: 400,
  invalid_request: 400,
  invalid_params: 400,
  unknown_dialect: 400,
  unknown_type: 400,
  unsupported_version: 400,
  unauthorized: 401,
  forbidden: 403,
  from_mismatch: 403,
  bad_signature: 403,
  not_writer: 403,
  not_eligible: 403,
  channel_forbidden: 403,
  not_found: 404,
  agent_not_found: 404,
  box_not_found: 404,
  card_not_found: 404,
  consumer_not_found: 404,
  batch_not_found: 404,
  graph_not_found: 404,
  task_not_found: 404,
  tool_not_found: 404,
  turn_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  agent_removed: 409,
  agent_paused: 409,
  agent_stopped: 409,
  already_claimed: 409,
  ambiguous_id: 409,
  box_full: 409,
  box_read_only: 409,
  claim_in_progress: 409,
  batch_ended: 409,
  graph_ended: 409,
  id_reserved: 409,
  id_reused: 409,
  not_holder: 409,
  not_retryable: 409,
  not_running: 409,
  not_waiting: 409,
  retry_pending: 409,
  stale_attempt: 409,
  stale_receipt: 409,
  stale_turn: 409,
  cancelled: 409,
  task_ended: 409,
  task_expired: 409,
  task_waiting: 409,
  waiting_for_input: 409,
  content_damaged: 410,
  too_large: 413,
  expectation_failed: 417,
  capability_not_found: 422,
  delegation_cycle: 422,
  task_graph_cycle: 422,
  protocol_violation: 422,
  recursion_depth_exceeded: 422,
  unknown_agent: 422,
  unknown_box: 422,
  unknown_card: 422,
  unknown_dependency: 422,
  unknown_domain: 422,
  fabrication_detected: 422,
  unknown_parent: 422,
  no_common_version: 422,
  inbox_full: 429,
  rate_limited: 429,
  too_many_in_flight: 429,
  too_many_waits: 429,
  headers_too_large: 431,
  internal: 500,
  conflict: 503,
  overloaded: 503,
  storage_full: 503,
  storage_unavailable: 503,
} as const;

export type ParleyErrorCode = keyof typeof STATUS_BY_CODE;

export interface Issue {
  path: string;
  message: string;
}

/** Every refusal and failure that a caller is meant to see. The thrower decides whether trying again can help. */
export class ParleyError extends Error {
  readonly code: ParleyErrorCode;
  readonly retryable: boolean;
  readonly issues: Issue[] | undefined;
  /** Facts that explain the error, such as the holder of a task: they become members of the problem. */
  readonly details: JsonObject;

  constructor(
    code: ParleyErrorCode,
    message: string,
    options: { issues?: Issue[]; details?: JsonObject; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ParleyError';
    this.code = code;
    this.retryable = options.retryable ?? STATUS_BY_CODE[code] >= 500;
    this.issues = options.issues;
    this.details = options.details ?? {};
  }
}

/** Trying the same again cannot help. What is not a refusal of ours may pass. */
export const isPermanent = (error: unknown): error is ParleyError => error instanceof ParleyError && !error.retryable;
