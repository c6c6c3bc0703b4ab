export interface ErrorCodeRow {
  status: number;
  /** Whether the same request can succeed later. The thrower may override it. */
  retryable?: boolean;
  meaning: string;
  action: string;
}

/** A code never changes its meaning. `npm run docs` writes docs/reference/error-codes.md from this table. */
export const ERROR_CODES = {
  invalid_json: {
    status: 400,
    meaning: 'The body is not JSON in UTF-8, or it is nested too deeply.',
    action: 'Correct the body. `issues` names the place.',
  },
  invalid_message: {
    status: 400,
    meaning: 'The message does not match the schema of its dialect.',
    action: 'Correct the fields that `issues` lists.',
  },
  invalid_request: {
    status: 400,
    meaning: 'The query, the body or the request itself is malformed.',
    action: 'Correct the fields that `issues` lists.',
  },
  invalid_params: {
    status: 400,
    meaning: 'A message from NATS contradicts the subject that it was published on.',
    action: 'Publish the message on the subject that fits its payload.',
  },
  address_forbidden: {
    status: 400,
    meaning: 'Parley does not call this address: it is not HTTPS, or not of a public host.',
    action: 'Name a public HTTPS address. An operator can allow private ones with `outbound.allowPrivateAddresses`.',
  },
  unknown_dialect: {
    status: 400,
    meaning: 'The message has the shape of no dialect, or names a dialect that does not exist.',
    action: 'Send one of the dialects in `known`, or set `Parley-Dialect`.',
  },
  unknown_type: {
    status: 400,
    meaning: 'The dialect has no message of this type.',
    action: 'Send one of the types in `known`.',
  },
  unsupported_version: {
    status: 400,
    meaning: 'The message has a protocol version that Parley does not support.',
    action: 'Send a version that is compatible with `supported`.',
  },
  unauthorized: {
    status: 401,
    meaning: 'The request has no key, or its key is invalid or was rotated.',
    action: 'Send a valid key in `Authorization: Bearer <key>`.',
  },
  forbidden: {
    status: 403,
    meaning: 'The key may not make this call, or may not act on this resource.',
    action: 'Use the key of the owner, or one of the scope in `needed`.',
  },
  key_exists: {
    status: 409,
    meaning: 'There is a key with this name.',
    action: 'Rotate it, remove it, or choose another name.',
  },
  key_not_found: {
    status: 404,
    meaning: 'There is no key with this name, or it has expired.',
    action: 'Take a name that `GET /v1/keys` lists.',
  },
  from_mismatch: {
    status: 403,
    meaning: 'The message names a sender that the key does not belong to.',
    action: 'Send it with the key of the agent in `from`.',
  },
  bad_signature: {
    status: 403,
    meaning: 'The agent must sign its messages, and the signature is missing, wrong or too old.',
    action: 'Sign the message again with the registered key.',
  },
  not_writer: {
    status: 403,
    meaning: 'Another agent writes to this box.',
    action: 'Append with the key of the agent in `writer`.',
  },
  not_eligible: {
    status: 403,
    meaning: 'The agent may not take this work: it is addressed to others, or the agent declined it.',
    action: 'Claim other tasks, or declare the capability.',
  },
  channel_forbidden: {
    status: 403,
    meaning: 'The agent may not use the channel.',
    action: 'Ask an administrator to add the channel to the registration.',
  },
  not_found: {
    status: 404,
    meaning: 'There is no such path or resource.',
    action: 'Check the path. `GET /openapi.json` lists all routes.',
  },
  agent_not_found: {
    status: 404,
    meaning: 'No agent with this id is registered.',
    action: 'Check the id, or register the agent.',
  },
  box_not_found: {
    status: 404,
    meaning: 'The box does not exist, or it has expired.',
    action: 'Check the id, or create a new box.',
  },
  card_not_found: {
    status: 404,
    meaning: 'The card does not exist, or it has expired.',
    action: 'Check the id, or create the card again.',
  },
  consumer_not_found: {
    status: 404,
    meaning: 'The configuration has no such consumer, or the key may not use it.',
    action: 'Declare the consumer and its agents in `parley.config.ts`.',
  },
  project_not_found: {
    status: 404,
    meaning: 'There is no project with this name.',
    action: 'Check the name. `GET /v1/projects` lists them.',
  },
  batch_not_found: {
    status: 404,
    meaning: 'The batch does not exist, or is no longer stored.',
    action: 'Check the id.',
  },
  graph_not_found: {
    status: 404,
    meaning: 'The graph does not exist, or is no longer stored.',
    action: 'Check the id.',
  },
  task_not_found: {
    status: 404,
    meaning: 'The task does not exist, is no longer stored, or the caller may not read it.',
    action: 'Check the id and the key.',
  },
  tool_not_found: {
    status: 404,
    meaning: 'No tool with this name is registered.',
    action: 'Register it with `PUT /v1/tools/{name}`.',
  },
  turn_not_found: {
    status: 404,
    meaning: 'The turn does not exist, or is no longer stored.',
    action: 'Check the id.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not support this method.',
    action: 'Use one of the methods in the `Allow` header.',
  },
  request_timeout: {
    status: 408,
    meaning: 'The request did not arrive completely in time.',
    action: 'Send the whole request again.',
  },
  agent_removed: {
    status: 409,
    meaning: 'An agent with this name was removed, and messages to it are still stored.',
    action: 'Choose another name, or register with `?inherit=true` if it is the same agent.',
  },
  agent_paused: {
    status: 409,
    meaning: 'A coordinator paused or stopped the agent, so that it may not claim the task.',
    action: 'Wait until the agent is resumed.',
  },
  agent_stopped: {
    status: 409,
    meaning: 'A coordinator stopped the agent, and only `start` ends that.',
    action: 'Send `start` first.',
  },
  queue_paused: {
    status: 409,
    meaning: 'An operator paused the queue of the task, so that nobody may claim it.',
    action: 'Wait until the queue is resumed.',
  },
  limit_reached: {
    status: 409,
    retryable: true,
    meaning: 'As many tasks with a limit of this one run, or have started lately, as the limit allows.',
    action: 'Claim other tasks. Parley queues this one again when there is a place.',
  },
  already_claimed: {
    status: 409,
    meaning: 'Another agent holds the task.',
    action: 'Claim another task. `holder` names the agent.',
  },
  project_configured: {
    status: 409,
    meaning: 'The configuration has the project, or all projects of the deployment.',
    action: 'Change `projects` in the configuration.',
  },
  project_not_empty: {
    status: 409,
    meaning: 'The project has agents, tools, webhooks or schedules, or work that is not done.',
    action: 'Remove what `remaining` names, and cancel the work.',
  },
  project_removed: {
    status: 409,
    meaning: 'A project with this name was removed, and some of its data is still stored.',
    action: 'Choose another name, or create it with `?inherit=true`.',
  },
  ambiguous_id: {
    status: 409,
    meaning: 'A short id matches several tasks or messages.',
    action: 'Use one of the full ids in the response.',
  },
  box_full: {
    status: 409,
    meaning: 'The box would exceed its limit of cards.',
    action: 'Append to a new box.',
  },
  box_read_only: {
    status: 409,
    meaning: 'The box is a context box, which never changes.',
    action: 'Create an output box.',
  },
  claim_in_progress: {
    status: 409,
    retryable: true,
    meaning: 'A claim with the same `claimId` is still waiting for tasks.',
    action: 'Send the same claim again later.',
  },
  batch_ended: {
    status: 409,
    meaning: 'The batch has ended and accepts no more tasks.',
    action: 'Create a new batch.',
  },
  graph_ended: {
    status: 409,
    meaning: 'The graph has ended, so that it cannot be cancelled.',
    action: 'Nothing: `graphStatus` has its final status.',
  },
  id_reserved: {
    status: 409,
    meaning: 'Only Parley creates ids of this form.',
    action: 'Use a random UUID.',
  },
  call_in_progress: {
    status: 409,
    retryable: true,
    meaning: 'An earlier call with the same Idempotency-Key is still being executed.',
    action: 'Repeat the call after `Retry-After`.',
  },
  id_reused: {
    status: 409,
    meaning: 'An earlier message or resource with the same id had different content.',
    action: 'Repeat a message unchanged, or use a new id.',
  },
  not_holder: {
    status: 409,
    meaning: 'The agent does not hold the task.',
    action: 'Stop the work. `holder` names the agent that has the task, if any.',
  },
  not_retryable: {
    status: 409,
    meaning: 'Only failed and expired tasks can be retried.',
    action: 'Request a new task.',
  },
  not_running: {
    status: 409,
    meaning: 'The turn is in another state than the call needs.',
    action: 'Read `state`, and lease or start the turn first.',
  },
  not_waiting: {
    status: 409,
    meaning: 'The task waits for no input.',
    action: 'Read the task before the next answer.',
  },
  retry_pending: {
    status: 409,
    meaning: 'The task waits for its next attempt.',
    action: 'Claim it after the time in `detail`.',
  },
  stale_attempt: {
    status: 409,
    meaning: 'The report belongs to an earlier attempt, or the task was queued again since.',
    action: 'Stop the work on this attempt.',
  },
  stale_receipt: {
    status: 409,
    meaning: 'The lease of the events is over, or the consumer was rewound.',
    action: 'Read the events again. They may arrive twice.',
  },
  stale_turn: {
    status: 409,
    meaning: 'The turn is not the active one: it ended, was reaped, or was never leased.',
    action: 'Stop the work on this turn.',
  },
  cancelled: {
    status: 409,
    meaning: 'The task, or its parent task, was cancelled.',
    action: 'Stop the work.',
  },
  task_ended: {
    status: 409,
    meaning: 'The task has ended. `state` has its final status.',
    action: 'Stop the work.',
  },
  task_expired: {
    status: 409,
    meaning:
      'The task expired: nobody claimed it within its time to live, or answered it where that is what it bounds.',
    action: 'Retry the task, or request a new one.',
  },
  task_waiting: {
    status: 409,
    meaning: 'The task waits for the tasks in `waitsFor`.',
    action: 'Claim it after they are completed.',
  },
  waiting_for_input: {
    status: 409,
    meaning: 'The task waits for an answer from its requester.',
    action: 'Wait for the answer, or fail the task.',
  },
  content_damaged: {
    status: 410,
    meaning: 'The stored content was damaged and cannot be read.',
    action: 'Request the work again. The rest of the record is intact.',
  },
  too_large: {
    status: 413,
    meaning: 'The body, or a part of it, exceeds a limit.',
    action: 'Send less. Large content fits into cards.',
  },
  expectation_failed: {
    status: 417,
    meaning: 'The request has an `Expect` header other than `100-continue`.',
    action: 'Remove the header.',
  },
  capability_not_found: {
    status: 422,
    meaning: 'No registered agent has the capability.',
    action: 'Register an agent with it, or address another capability.',
  },
  delegation_cycle: {
    status: 422,
    meaning: 'The agent already works on a parent of this task.',
    action: 'Delegate to another agent, or do the work.',
  },
  task_graph_cycle: {
    status: 422,
    meaning: 'Tasks depend on each other in a cycle.',
    action: 'Remove one of the dependencies in `cycle`.',
  },
  protocol_violation: {
    status: 422,
    meaning: 'The call breaks a rule of the protocol of turns.',
    action: 'Correct the call. `violated` names the rule.',
  },
  recursion_depth_exceeded: {
    status: 422,
    meaning: 'The chain of calls is deeper than the limit.',
    action: 'End the chain: deliver a result without a further call.',
  },
  unknown_agent: {
    status: 422,
    meaning: 'The message is addressed to an agent that is not registered.',
    action: 'Register the agent, or address another one.',
  },
  unknown_box: {
    status: 422,
    meaning: 'The message refers to a box that does not exist.',
    action: 'Create the box first.',
  },
  unknown_card: {
    status: 422,
    meaning: 'The message refers to a card that does not exist.',
    action: 'Create the card first.',
  },
  unknown_dependency: {
    status: 422,
    meaning: 'The request depends on a task that does not exist.',
    action: 'Correct the ids in `unknown`.',
  },
  unknown_domain: {
    status: 422,
    meaning: 'The project has no such domain.',
    action: 'Use one of the domains in `known`, or configure a new one.',
  },
  fabrication_detected: {
    status: 422,
    meaning: 'The answer claims high confidence without evidence.',
    action: 'Name the sources, or lower the confidence.',
  },
  no_common_version: {
    status: 422,
    meaning: 'The two agents support no common protocol version.',
    action: 'Upgrade one of the agents.',
  },
  inbox_full: {
    status: 429,
    retryable: true,
    meaning: 'The inbox of the recipient is full.',
    action: 'Send the same message again later.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    meaning: 'The agent or the address exceeded its limit per minute.',
    action: 'Send the same request again after `Retry-After`.',
  },
  too_many_in_flight: {
    status: 429,
    retryable: true,
    meaning: 'The key has too many requests in flight.',
    action: 'Send the same request again after `Retry-After`.',
  },
  too_many_waits: {
    status: 429,
    retryable: true,
    meaning: 'The key has too many waiting calls or streams open.',
    action: 'Close one, or try again after `Retry-After`.',
  },
  headers_too_large: {
    status: 431,
    meaning: 'The request headers exceed 16 KB.',
    action: 'Send fewer or shorter headers.',
  },
  internal: {
    status: 500,
    retryable: true,
    meaning: 'An unexpected error occurred. The server has logged it.',
    action: 'Send the same request again. Report a bug if the error persists.',
  },
  unreachable: {
    status: 502,
    retryable: true,
    meaning: 'The address that Parley called did not answer.',
    action: 'Check the receiver, and try again.',
  },
  webhook_not_found: {
    status: 404,
    meaning: 'There is no webhook with this id.',
    action: 'Check the id. `GET /v1/webhooks` lists them.',
  },
  conflict: {
    status: 503,
    retryable: true,
    meaning: 'Too many concurrent writes to one record.',
    action: 'Send the same request again.',
  },
  overloaded: {
    status: 503,
    retryable: true,
    meaning: 'The server has too many requests in flight.',
    action: 'Send the same request again after `Retry-After`.',
  },
  storage_full: {
    status: 503,
    retryable: true,
    meaning: 'The disk is full. Reads still work.',
    action: 'Send the same request again later. The operator must free space.',
  },
  storage_unavailable: {
    status: 503,
    retryable: true,
    meaning: 'The storage is temporarily unavailable.',
    action: 'Send the same request again after `Retry-After`.',
  },
} as const satisfies Record<string, ErrorCodeRow>;
