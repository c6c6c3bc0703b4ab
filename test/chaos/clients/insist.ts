import { setTimeout as pause } from 'node:timers/promises';
import type { Reply, Transport } from '../../support/api.ts';
import type { Random } from '../../support/hostile-ports.ts';

/** Of a client's calls. */
const LOST_BEFORE = 0.03;
const LOST_AFTER = 0.05;
const NOT_WAITED_FOR = 0.04;
const TWICE = 0.05;
const PATIENCE_MS = 15;
const PAUSE_MS = 10;
/** To be sent again, as the documentation says; all other answers are final. */
const TRANSIENT = ['conflict', 'claim_in_progress', 'call_in_progress'];

export class Over extends Error {}

const isFinal = (reply: Reply | undefined): reply is Reply =>
  reply !== undefined && reply.status < 500 && reply.status !== 429 && !TRANSIENT.includes(reply.body?.code);

/** A client that sends the same call until its answer is final, though calls and answers are lost, late and doubled. */
export const insistOn = (
  transport: Transport,
  random: Random,
  isCalm: () => boolean,
  isOver: () => boolean,
): Transport => {
  return async (...call) => {
    for (;;) {
      if (isOver()) throw new Over();
      const fate = isCalm() ? 1 : random();
      const send = (): Promise<Reply | undefined> => transport(...call).catch(() => undefined);
      if (fate >= LOST_BEFORE) {
        const sent = fate > 1 - TWICE && !isCalm() ? [send(), send()] : [send()];
        if (fate < LOST_BEFORE + NOT_WAITED_FOR) await Promise.race([Promise.all(sent), pause(PATIENCE_MS)]);
        else {
          const replies = (await Promise.all(sent)).filter(isFinal);
          // Of two at once the one that took effect says more than the one that was too late.
          const [reply] = replies.toSorted((a, b) => Number(a.status >= 300) - Number(b.status >= 300));
          if (reply && fate >= LOST_BEFORE + NOT_WAITED_FOR + LOST_AFTER) return reply;
        }
      }
      await pause(PAUSE_MS);
    }
  };
};
