import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { removeFolder, temporaryFolder } from '../own-processes.ts';
import { CONTENTS } from './content.ts';
import { inBatches, oneByOne } from './lives.ts';
import { type MeasuredLives, measureRow } from './measure-lives.ts';
import { startSite } from './site.ts';
import { storeTasks } from './stored-tasks.ts';

export interface Stored {
  stored: number;
  oneByOne: MeasuredLives;
  inBatches: MeasuredLives;
}

export const measureStored = async (sizes: number[], lives: number, warmUp: number): Promise<Stored[]> => {
  const dir = temporaryFolder();
  const measured: Stored[] = [];
  try {
    let there = 0;
    for (const [index, size] of sizes.entries()) {
      if (index > 0) {
        await storeTasks(dir, size - there);
        // The queues are created again, without leftover messages.
        rmSync(join(dir, 'sqs-s3'), { recursive: true, force: true });
      }
      console.error(`  … ${size} tasks stored`);
      const site = await startSite(dir);
      try {
        // The warm-up leaves the smallest size behind.
        const warmingUp = index === 0 ? size : warmUp;
        await measureRow(site, 'to warm up', warmingUp, CONTENTS.text, oneByOne);
        measured.push({
          stored: size,
          oneByOne: await measureRow(site, 'one by one', lives, CONTENTS.text, oneByOne),
          inBatches: await measureRow(site, 'in batches', lives, CONTENTS.text, inBatches),
        });
        there = Math.max(size, there) + (index === 0 ? 0 : warmingUp) + 2 * lives;
      } finally {
        await site.stop();
      }
    }
    return measured;
  } finally {
    removeFolder(dir);
  }
};
