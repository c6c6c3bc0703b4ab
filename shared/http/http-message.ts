/** A request, whoever received it: a plain server or a function behind an API. */
export interface HttpRequest {
  method: string;
  path: string;
  /** Without the question mark. */
  query: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  /**
   * Called at most once, when the key and its role are known: what strangers send is not kept in memory. Empty without a body;
   * rejects with `too_large` beyond the limit.
   */
  readBody: (limit: number) => Promise<Uint8Array>;
  /** The address that it came from, where that is known. */
  source?: string;
  /** Fires when the caller has gone or the server stops. Only those who wait should ask for it. */
  signal?: AbortSignal;
  /** Takes down who asks, and about what, for whoever keeps a log of requests. */
  addLogFields?: (facts: Record<string, string>) => void;
}

/** Where a reader of server-sent events was that comes back. One that has heard nothing yet may send it blank. */
export const getLastEventId = ({ headers }: Pick<HttpRequest, 'headers'>): string | undefined =>
  headers['last-event-id'] || undefined;

export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** Pieces that come with time end when the request's signal fires. */
  body: string | Uint8Array | AsyncIterable<string>;
  /** The pieces end by themselves. */
  endsByItself?: true | undefined;
}
