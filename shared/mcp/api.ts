import type { Json, JsonObject } from '../kernel/json/json.ts';

/** A call of Parley's own HTTP API with the key of the MCP client. */
export interface ApiRequest {
  query?: Record<string, string | number | boolean | undefined>;
  body?: JsonObject;
  headers?: Record<string, string>;
}

export interface InternalApi {
  /** The JSON of the response. Throws an `ApiProblem` for any other status than 2xx. */
  call(method: 'GET' | 'POST', path: string, request?: ApiRequest): Promise<JsonObject>;
  /** What is not JSON. */
  download(path: string): Promise<{ type: string; bytes: Uint8Array }>;
}

/** What Parley's API said no with. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: JsonObject;

  constructor(status: number, problem: JsonObject) {
    super(typeof problem.detail === 'string' ? problem.detail : `HTTP status ${status}`);
    this.status = status;
    this.code = typeof problem.code === 'string' ? problem.code : 'internal';
    this.problem = problem;
  }
}

export const toPathStep = (id: string): string => encodeURIComponent(id);

export const taskPath = (id: string, rest = ''): string => `/v1/tasks/${toPathStep(id)}${rest}`;

/** A task as `GET /v1/tasks/{id}` shows it: what MCP needs of it. */
export interface ShownTask {
  id: string;
  state: string;
  type: string;
  from: string;
  createdAt: string;
  result?: Json;
  payload?: Json;
  artifacts?: { name: string; type: string }[];
  error?: { code: string; message: string };
  input?: { prompt?: string; schema?: JsonObject; step?: string };
  progress?: { percent?: number; message?: string; at?: string };
  history?: { at: string; event: string }[];
}

export const fetchTask = async (api: InternalApi, id: string, waitSeconds?: number): Promise<ShownTask> =>
  (await api.call('GET', taskPath(id), { query: { wait: waitSeconds } })) as unknown as ShownTask;

const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

/** Whether nobody needs to wait for it: it has ended, or its holder asks. */
export const isSettled = ({ state }: ShownTask): boolean => state === 'input_required' || ENDED.includes(state);

export const hasEnded = ({ state }: ShownTask): boolean => ENDED.includes(state);
