import type { JsMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/kernel/log.ts';
import { computeBackoffMs } from './backoff.ts';
import type { Disposition } from './disposition.ts';
import type { RelayMetrics } from './metrics.ts';
import type { NatsClient } from './nats-client.ts';
import type { MessageResponse } from './parley-api.ts';

/** A message of a consumer, or one that was read from its stream without one. */
export type SettleableMessage = Pick<JsMsg, 'subject' | 'headers' | 'data' | 'time' | 'ack' | 'nak' | 'term'> & {
  info: Pick<JsMsg['info'], 'stream' | 'streamSequence' | 'deliveryCount'>;
};

export interface AckContext {
  site: NatsClient;
  metrics: RelayMetrics;
  log: Log;
}

/** If a step fails, the message stays unacknowledged and JetStream delivers it again. */
export const applyDisposition = async (
  settling: AckContext,
  message: SettleableMessage,
  disposition: Disposition,
  { status, body }: MessageResponse,
): Promise<void> => {
  const { site, metrics, log } = settling;
  switch (disposition) {
    case 'ack':
      message.ack();
      if (body.skipped !== undefined) {
        metrics.increment('ingress', 'skipped');
        return;
      }
      metrics.increment('ingress', 'messages');
      metrics.increment('ingress', 'bytes', message.data.length);
      metrics.recordAge('ingress', message.time.getTime());
      return;
    case 'reject':
      try {
        if (body.rejectionNotice) await site.publish(body.rejectionNotice);
        message.ack();
        metrics.increment('ingress', 'rejected');
      } catch (error) {
        log('warn', 'rejection notice failed', { subject: message.subject, error: String(error) });
        nakWithBackoff(settling, message);
      }
      return;
    case 'deadLetter':
      if (body.rejectionNotice) await site.publish(body.rejectionNotice).catch(() => {});
      return deadLetterMessage(settling, message, { ...body, status });
    case 'pause':
    case 'retry':
      return nakWithBackoff(settling, message);
  }
};

export const nakWithBackoff = ({ metrics }: AckContext, message: SettleableMessage): void => {
  metrics.increment('ingress', 'retries');
  message.nak(computeBackoffMs(message.info.deliveryCount));
};

export const nakNow = ({ metrics }: AckContext, message: SettleableMessage): void => {
  metrics.increment('ingress', 'retries');
  message.nak();
};

export const deadLetterMessage = async (
  settling: AckContext,
  message: SettleableMessage,
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
      `dead-letter/${info.stream}/${info.streamSequence}`,
    );
    message.term();
    metrics.increment('ingress', 'dead_letters');
    log('warn', 'message dead-lettered', { subject, code: problem.code, detail: problem.detail });
  } catch (error) {
    log('error', 'dead-letter publish failed', { subject, error: String(error) });
    nakWithBackoff(settling, message);
  }
};
