import { env } from 'node:process';
import type { Log } from '../../shared/kernel/log.ts';

type Fields = Record<string, unknown>;

/** One JSON line for each entry, with what is known of the invocation. Lambda takes what stands on standard output as it is. */
class FunctionLogger {
  #invocation: Fields = {};
  readonly #unwritten = new Set<Promise<void>>();

  /** Of the invocation that begins: nothing of the one before stays. */
  startInvocation({ awsRequestId }: { awsRequestId: string }, fields: Fields): void {
    this.#invocation = { function_request_id: awsRequestId, ...fields };
  }

  appendFields(fields: Fields): void {
    Object.assign(this.#invocation, fields);
  }

  readonly info = (message: string, fields?: Fields): void => this.#write('INFO', message, fields);
  readonly warn = (message: string, fields?: Fields): void => this.#write('WARN', message, fields);
  readonly error = (message: string, fields?: Fields): void => this.#write('ERROR', message, fields);

  #write(level: string, message: string, fields: Fields = {}): void {
    const { error } = fields;
    const line: Fields = {
      level,
      message,
      timestamp: new Date().toISOString(),
      service: env.POWERTOOLS_SERVICE_NAME,
      ...this.#invocation,
      ...fields,
      ...(error instanceof Error && { error: { name: error.name, message: error.message, stack: error.stack } }),
    };
    const text = `${JSON.stringify(line)}\n`;
    if (level !== 'ERROR') {
      process.stdout.write(text);
      return;
    }
    // Before the invocation ends, which waits for it.
    const written = import('./map-stack.ts')
      .then(({ mapStack }) => mapStack(text))
      .catch(() => text)
      .then((mapped) => void process.stdout.write(mapped))
      .finally(() => this.#unwritten.delete(written));
    this.#unwritten.add(written);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#unwritten);
  }
}

export const logger = new FunctionLogger();

export const log: Log = (level, message, facts) => logger[level](message, facts);
