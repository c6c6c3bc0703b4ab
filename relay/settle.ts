import type { JsMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/log.ts';
import type { Metrics } from './metrics.ts';
import type { Result } from './parley-api.ts';
import { growingMs } from './pause.ts';
import type { Site } from './site.ts';
import type { Verdict } from './verdict.ts';

export interface Settling {
  site: Site;
  metrics: Metrics;
  log: Log;
}

/** Tells JetStream what has become of a message. Whatever fails on the way, the message comes again. */
export const settle = async (
  settling: Settling,
  message: JsMsg,
  verdict: Verdict,
  { status, body }: Result,
): Promise<void> => {
  const { site, metrics, log } = settling;
  switch (verdict) {
    case 'done':
      message.ack();
      metrics.count('up', 'messages');
      metrics.count('up', 'bytes', message.data.length);
      metrics.saw('up', message.time.getTime());
      return;
    case 'told':
      try {
        if (body.tell) await site.publish(body.tell);
        message.ack();
        metrics.count('up', 'told');
      } catch (error) {
        log('warn', 'a refusal could not be told', { subject: message.subject, error: String(error) });
        again(settling, message);
      }
      return;
    case 'dead':
      if (body.tell) await site.publish(body.tell).catch(() => {});
      return bury(settling, message, { ...body, status });
    case 'stop':
    case 'later':
      return again(settling, message);
  }
};

export const again = ({ metrics }: Settling, message: JsMsg): void => {
  metrics.count('up', 'retries');
  message.nak(growingMs(message.info.deliveryCount));
};

/** For another relay, at once. */
export const giveBack = ({ metrics }: Settling, message: JsMsg): void => {
  metrics.count('up', 'retries');
  message.nak();
};

export const bury = async (settling: Settling, message: JsMsg, problem: Result['body']): Promise<void> => {
  const { site, metrics, log } = settling;
  const { subject, info } = message;
  try {
    await site.bury(subject, message.headers, message.data, problem, `dead/${info.stream}/${info.streamSequence}`);
    message.term();
    metrics.count('up', 'dead');
    log('warn', 'a message was refused for good', { subject, code: problem.code, detail: problem.detail });
  } catch (error) {
    log('error', 'a refused message could not be kept', { subject, error: String(error) });
    again(settling, message);
  }
};
