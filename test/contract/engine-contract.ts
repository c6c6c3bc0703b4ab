import { blobsContract } from './blobs-contract.ts';
import { cardsContract } from './cards-contract.ts';
import { changeFeedContract } from './change-feed-contract.ts';
import { consumersContract } from './consumers-contract.ts';
import type { Open } from './engine-under-test.ts';
import { eventsContract } from './events-contract.ts';
import { fullInboxContract } from './full-inbox-contract.ts';
import { keysContract } from './keys-contract.ts';
import { limitsContract } from './limits-contract.ts';
import { listsContract } from './lists-contract.ts';
import { queriesContract } from './queries-contract.ts';
import { queuePausesContract } from './queue-pauses-contract.ts';
import { queuesContract } from './queues-contract.ts';
import { recordsContract } from './records-contract.ts';
import { statisticsContract } from './statistics-contract.ts';
import { timersContract } from './timers-contract.ts';
import { transactionsContract } from './transactions-contract.ts';
import { updatesContract } from './updates-contract.ts';

/** All that any engine promises. */
export const engineContract = (name: string, open: Open): void => {
  recordsContract(name, open);
  updatesContract(name, open);
  queriesContract(name, open);
  listsContract(name, open);
  transactionsContract(name, open);
  queuesContract(name, open);
  eventsContract(name, open);
  consumersContract(name, open);
  cardsContract(name, open);
  keysContract(name, open);
  queuePausesContract(name, open);
  fullInboxContract(name, open);
  limitsContract(name, open);
  timersContract(name, open);
  changeFeedContract(name, open);
  blobsContract(name, open);
  statisticsContract(name, open);
};
