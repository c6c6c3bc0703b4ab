import type { JsMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/kernel/log.ts';
import { computeBackoffMs } from './backoff.ts';
import type { Disposition } from './disposition.ts';
import type { RelayMetrics } from './metrics.ts';
import type { NatsClient } from './nats-client.ts';
import type { MessageResponse } from './parley-api.ts';

export interface AckContext {
  site: NatsClient;
  metrics: RelayMetrics;
  log: Log;
}

/** Tells JetStream what has become of a message. Whatever fails on the way, the message comes again. */
export const applyDisposition = async (
  settling: AckContext,
  message: JsMsg,
  verdict: Disposition,
  { status, body }: MessageResponse,
): Promise<void> => {
  const { site, metrics, log } = settling;
  switch (verdict) {
    case 'done':
      message.ack();
      metrics.increment('up', 'messages');
      metrics.increment('up', 'bytes', message.data.length);
      metrics.recordAge('up', message.time.getTime());
      return;
    case 'reject':
      try {
        if (body.tell) await site.publish(body.tell);
        message.ack();
        metrics.increment('up', 'rejected');
      } catch (error) {
        log('warn', 'a refusal could not be told', { subject: message.subject, error: String(error) });
        nakWithBackoff(settling, message);
      }
      return;
    case 'dead':
      if (body.tell) await site.publish(body.tell).catch(() => {});
      return deadLetterMessage(settling, message, { ...body, status });
    case 'stop':
    case 'later':
      return nakWithBackoff(settling, message);
  }
};

export const nakWithBackoff = ({ metrics }: AckContext, message: JsMsg): void => {
  metrics.increment('up', 'retries');
  message.nak(computeBackoffMs(message.info.deliveryCount));
};

/** For another relay, at once. */
export const nakNow = ({ metrics }: AckContext, message: JsMsg): void => {
  metrics.increment('up', 'retries');
  message.nak();
};

export const deadLetterMessage = async (
  settling: AckContext,
  message: JsMsg,
  problem: MessageResponse['body'],
): Promise<void> => {
  const { site, metrics, log } = settling;
  const { subject, info } = message;
  try {
    await site.publishDeadLetter(
      subject,
      message.headers,
      message.data,
      problem,
      `dead/${info.stream}/${info.streamSequence}`,
    );
    message.term();
    metrics.increment('up', 'dead');
    log('warn', 'a message was refused for good', { subject, code: problem.code, detail: problem.detail });
  } catch (error) {
    log('error', 'a refused message could not be kept', { subject, error: String(error) });
    nakWithBackoff(settling, message);
  }
};
