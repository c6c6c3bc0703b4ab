import type { HttpHandler } from '../shared/http/router.ts';

/** A line for each request: when, what, the status, how long it took, and who asked about which task. */
export const logRequests =
  (handle: HttpHandler, write: (line: string) => void): HttpHandler =>
  async (request) => {
    const begun = performance.now();
    const facts: Record<string, unknown> = {};
    request.addLogFields = (more) => {
      Object.assign(facts, more);
    };
    const response = await handle(request);
    const { agent, taskId } = facts;
    const ms = (performance.now() - begun).toFixed(1);
    const query = request.query === '' ? '' : `?${request.query}`;
    const about = [agent, taskId].filter((one) => one !== undefined).join(' ');
    write(
      `${new Date().toISOString()} ${request.method} ${request.path}${query} ${response.status} ${ms} ms ${about}\n`,
    );
    return response;
  };
