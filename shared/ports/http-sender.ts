export interface OutboundRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface OutboundResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** As much of it as is read. */
  body: string;
}

/**
 * Calls what users named. Never an address of the own network unless that is allowed, whatever a name resolves to, and never
 * where an answer redirects to. Rejects with `address_forbidden`, or with `unreachable` if there was no answer in time.
 */
export interface HttpSender {
  /** Throws `address_forbidden` if the address alone shows that it will never be called. */
  assertAllowed(url: string): void;
  send(request: OutboundRequest): Promise<OutboundResponse>;
}
