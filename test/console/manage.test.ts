import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { startBrowser } from '../support/browser.ts';
import { openTab } from '../support/console-page.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, tempDir } from '../support/server-process.ts';
import { isSigned, outboundConfig, webhookReceiver } from '../support/webhook-receiver.ts';

const OWNER = { after };
const dir = tempDir(OWNER);
const config = join(tempDir(OWNER), 'config.json');
writeFileSync(config, JSON.stringify({ ...baseConfig, ...outboundConfig }));
const server = await startServer(OWNER, { dir, args: ['--config', config] });
const browser = await startBrowser(OWNER);
const lancelot = await server.agent('lancelot');
await server.agent('galahad', { capabilities: ['security.briefing'] });
const [link = ''] = /http:\S+#\/sign-in\?code=\S+/.exec(server.stdout()) ?? [];

const newTab = () => openTab(OWNER, browser, server.address);

describe('whoever signs in by the link', () => {
  it('has a key of its own, which ends by itself and when they sign out, and never sees the admin key', async () => {
    const tab = await newTab();
    const seen: string[] = [];
    tab.page.on('response', async (response) => {
      seen.push(JSON.stringify(response.headers()), await response.text().catch(() => ''));
    });
    await tab.page.goto(link);
    await tab.page.getByRole('navigation').waitFor();
    const listKeys = async () => (await server.admin.call('GET', '/v1/keys')).body.keys;
    const [made] = (await listKeys()).filter(({ name }: { name: string }) => name.startsWith('console-'));
    assert.equal(made.scope, 'admin');
    const hours = (Date.parse(made.expiresAt) - Date.now()) / 3_600_000;
    assert.ok(hours > 11 && hours <= 12, `${hours} h`);
    await tab.page.reload();
    await tab.page.getByRole('navigation').waitFor();
    await tab.page.getByRole('button', { name: 'Sign out' }).click();
    await tab.page.getByLabel('Key').waitFor();
    await eventually(async () =>
      assert.deepEqual(
        (await listKeys()).filter(({ name }: { name: string }) => name.startsWith('console-')),
        [],
      ),
    );
    assert.ok(seen.length > 4 && !seen.join().includes(server.adminKey));
    assert.deepEqual([tab.errors, tab.foreign], [[], []]);
  });
});

describe('in the console', () => {
  it('a webhook is made, tested, turned off and removed, and its secret is shown once', async () => {
    const receiver = await webhookReceiver(OWNER);
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'webhooks');
    await tab.see('No webhooks yet');
    await tab.assertAccessible('no webhooks');
    await tab.page.getByRole('button', { name: 'New webhook' }).click();
    await tab.page.getByLabel('Name').fill('chat');
    await tab.page.getByRole('textbox', { name: /^Address/ }).fill(receiver.url);
    await tab.page.getByRole('textbox', { name: /^Events/ }).fill('task.requested');
    await tab.assertAccessible('a new webhook');
    await tab.page.getByRole('button', { name: 'Make' }).click();
    const secret = (await tab.page.getByRole('group', { name: 'the secret' }).textContent()) ?? '';
    assert.match(secret, /^whsec_/);
    await tab.page.getByRole('link', { name: 'Open chat' }).click();
    await tab.see('Nothing was sent yet');
    assert.ok(!(await tab.page.content()).includes(secret));
    await tab.page.getByRole('button', { name: 'Test' }).click();
    await tab.see(/The test arrived/);
    await tab.page.getByRole('row', { name: /webhook\.test/ }).waitFor();
    await lancelot.request();
    await receiver.waitFor(2);
    assert.ok(receiver.calls.every((call) => isSigned(call, secret)));
    await tab.page.getByRole('row', { name: /task\.requested/ }).waitFor();
    receiver.answers.status = 500;
    await tab.page.getByRole('button', { name: 'Test' }).click();
    await tab.see('The test did not arrive: it answered 500.');
    await tab.assertAccessible('a webhook');
    await tab.page.getByRole('button', { name: 'Turn off' }).click();
    await tab.page.getByRole('button', { name: 'Turn on' }).waitFor();
    const { body } = await server.admin.call('GET', '/v1/webhooks/chat');
    assert.deepEqual([body.disabled.reason, body.types], ['operator', ['task.requested']]);
    await tab.page.getByRole('button', { name: 'Remove…' }).click();
    await tab.page.getByRole('button', { name: 'Remove the webhook' }).click();
    await tab.see('No webhooks yet');
    assert.deepEqual([tab.errors, tab.foreign], [[], []]);
  });

  it('a schedule is made, paused, run at once and removed', async () => {
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'schedules');
    await tab.page.getByRole('button', { name: 'New schedule' }).click();
    await tab.page.getByLabel('Name').fill('daily');
    await tab.page.getByRole('button', { name: 'Every hour' }).click();
    await tab.page.getByLabel('Capability').fill('security.briefing');
    await tab.assertAccessible('a new schedule');
    await tab.page.getByRole('button', { name: 'Schedule', exact: true }).click();
    await eventually(async () => assert.equal(await tab.page.locator('.lines li').count(), 5));
    await tab.assertAccessible('a schedule');
    await tab.page.getByRole('button', { name: 'Pause' }).click();
    await tab.see('No run is planned');
    await tab.page.getByRole('button', { name: 'Run now' }).click();
    await tab.see('console-operator requested it');
    await tab.show('schedules/daily');
    await tab.page.getByRole('button', { name: 'Remove…' }).click();
    await tab.page.getByRole('button', { name: 'Remove the schedule' }).click();
    await tab.see('No schedules yet');
    assert.deepEqual(tab.errors, []);
  });

  it('a queue is paused with a reason, and resumed', async () => {
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'queues?show=all');
    const row = tab.page.getByRole('row', { name: /security\.briefing/ });
    await row.getByRole('button', { name: 'Pause…' }).click();
    await tab.page.getByLabel('Reason').fill('The model is away');
    await tab.page.getByRole('button', { name: 'Pause the queue' }).click();
    await row.getByRole('button', { name: 'Resume' }).waitFor();
    const path = '/v1/queues?capability=security.briefing';
    const [queue] = (await server.admin.call('GET', path)).body.queues;
    assert.deepEqual([queue.paused, queue.pause.reason], [true, 'The model is away']);
    await row.getByRole('button', { name: 'Resume' }).click();
    await row.getByRole('button', { name: 'Pause…' }).waitFor();
  });

  it('a batch is cancelled with its open tasks', async () => {
    const tasks = Array.from({ length: 3 }, () => ({
      kind: 'request',
      id: randomUUID(),
      capability: 'security.briefing',
    }));
    const body = { batchId: randomUUID(), tasks };
    const editor = await server.agent('editor', { dialect: 'native' });
    const made = await editor.call('POST', '/v1/batches', body);
    assert.ok(made.status < 300, JSON.stringify(made.body));
    const tab = await newTab();
    await tab.signIn(server.adminKey, `batches/${body.batchId}`);
    await tab.page.getByRole('button', { name: 'Cancel open tasks' }).click();
    await eventually(async () => assert.equal(await tab.page.locator('h1 .badge').textContent(), 'cancelled'));
    assert.equal((await server.admin.call('GET', `/v1/tasks/${tasks[0]?.id}`)).body.state, 'cancelled');
  });

  it('the keyboard alone goes to each page, and opens a task of a list', async () => {
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'tasks');
    await tab.page.getByRole('row').nth(1).waitFor();
    await tab.page.getByRole('grid').focus();
    await tab.page.keyboard.press('j');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { level: 1 }).getByText(/\w/).first().waitFor();
    await eventually(async () => assert.match(tab.page.url(), /#\/tasks\/.+/));
    for (const [letter, title] of Object.entries({ w: 'Webhooks', c: 'Schedules', q: 'Queues', d: 'Dead letters' })) {
      await tab.page.keyboard.press('g');
      await tab.page.keyboard.press(letter);
      await tab.page.getByRole('heading', { level: 1, name: title }).waitFor();
    }
  });
});
