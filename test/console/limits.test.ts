import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { startBrowser } from '../support/browser.ts';
import { openTab } from '../support/console-page.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, tempDir } from '../support/server-process.ts';

const OWNER = { after };
const server = await startServer(OWNER, { dir: tempDir(OWNER) });
const browser = await startBrowser(OWNER);

describe('the limits of the console', () => {
  it('are set, shown with what waits for them in queues and tasks, and removed', async () => {
    const chef = await server.agent('chef', { dialect: 'native' });
    const cook = await server.agent('cook', { dialect: 'native', capabilities: ['soup'] });
    const limits = [{ key: 'oven', concurrency: 1 }];
    const ids = [randomUUID(), randomUUID()];
    for (const id of ids) await chef.send({ kind: 'request', id, capability: 'soup', limits });
    assert.equal((await cook.claim({ max: 10 })).length, 1);
    const tab = await openTab(OWNER, browser, server.address);
    await tab.signIn(server.adminKey, 'queues');
    await tab.see('1 wait for oven');
    await tab.assertAccessible('queues with limits');
    await tab.show(`tasks/${ids[1]}`);
    await tab.see('1 of 1 run');
    await tab.show('queues');
    await tab.page.getByRole('button', { name: 'Set a limit…' }).click();
    await tab.page.getByLabel('Key').fill('oven');
    await tab.page.getByLabel('Tasks at once').fill('2');
    await tab.page.getByRole('button', { name: 'Set the limit' }).click();
    await tab.see('1 of 2');
    await eventually(async () => assert.equal((await cook.claim({ max: 10 })).length, 1));
    await tab.page.getByRole('button', { name: 'Change…' }).click();
    await tab.page.getByRole('button', { name: 'Remove' }).click();
    await eventually(async () => {
      const { body } = await server.admin.call('GET', '/v1/limits/oven');
      assert.equal(body.source, 'tasks');
    });
    assert.deepEqual(tab.errors, []);
  });
});
