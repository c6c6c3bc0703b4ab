import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { taskRequest } from '../support/api.ts';
import { startBrowser } from '../support/browser.ts';
import { openTab } from '../support/console-page.ts';
import { eventually } from '../support/eventually.ts';
import { isLong } from '../support/scale.ts';
import { lastingPort, startServer, tempDir } from '../support/server-process.ts';

const OWNER = { after };
const dir = tempDir(OWNER);
const port = await lastingPort();
let server = await startServer(OWNER, { dir, port });
const browser = await startBrowser(OWNER);
const lancelot = await server.agent('lancelot');
const galahad = await server.agent('galahad', { capabilities: ['security.briefing', 'intel.weather'] });

const PATHS = [
  '',
  'for-you',
  'submit?capability=security.briefing',
  'tasks',
  'tasks/ID',
  'dead-letters',
  'graphs',
  'graphs?kind=batches',
  'turns',
  'agents',
  'agents/galahad',
  'agents?register=true',
  'queues?show=all',
  'map',
  'webhooks?new=true',
  'schedules?new=true',
  'events',
  'events?show=messages',
  'events?show=changes',
  'violations',
  'violations?kind=gaps',
  'nowhere',
];

/** Together they have all components. */
const IN_DARK = ['', 'tasks', 'agents?register=true', 'queues?show=all', 'schedules?new=true'];

/** The list and the tail are no slower with many. */
const MANY = isLong ? 100_000 : 1500;

const newTab = (options = {}) => openTab(OWNER, browser, server.address, options);
const ask = async (taskId: string, payload: object): Promise<void> => {
  const reply = await server.admin.call('POST', '/v1/messages', {
    kind: 'question',
    from: 'galahad',
    taskId,
    ...payload,
  });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
};

describe('the console', () => {
  it('is signed in to with the link that the start prints, once, and the link never has the key', async () => {
    const [link = ''] = /http:\S+#\/sign-in\?code=\S+/.exec(server.stdout()) ?? [];
    assert.ok(link && !link.includes(server.adminKey));
    const first = await newTab();
    await first.page.goto(link);
    await first.page.getByRole('navigation').waitFor();
    assert.ok(!first.page.url().includes('code='), 'the address no longer has the code');
    await first.page.reload();
    await first.page.getByRole('navigation').waitFor();
    const second = await newTab();
    await second.page.goto(link);
    await second.see('This link was used before');
  });

  it('refuses a wrong key and says where the right one is', async () => {
    const tab = await newTab();
    await tab.open();
    await tab.page.getByLabel('Key').fill('prl_default.nobody.0123456789');
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    await tab.see('Parley does not know this key');
    assert.equal(await tab.page.getByRole('navigation').count(), 0);
  });

  it('shows a task through its life without a reload', async () => {
    const tab = await newTab();
    const id = await lancelot.request();
    await tab.signIn(server.adminKey, `tasks/${id}`);
    const badge = tab.page.locator('h1 .badge');
    await eventually(async () => assert.equal(await badge.textContent(), 'queued'));
    await galahad.claim();
    await eventually(async () => assert.equal(await badge.textContent(), 'claimed'));
    await galahad.progress(id, { percent: 40 });
    await eventually(async () => assert.match((await tab.page.locator('.progress').textContent()) ?? '', /40 %/));
    await galahad.complete(id, { format: 'markdown', content: 'All quiet.' });
    await eventually(async () => assert.equal(await badge.textContent(), 'completed'));
    await tab.see('All quiet.');
    await tab.see('galahad completed it');
    assert.deepEqual([tab.errors, tab.foreign], [[], []]);
  });

  it('answers the question of a task with a form made from its schema', async () => {
    const tab = await newTab();
    const id = await lancelot.request();
    await galahad.claim();
    await ask(id, {
      prompt: 'How many pages?',
      schema: {
        type: 'object',
        properties: { pages: { type: 'integer' }, tone: { enum: ['plain', 'formal'] } },
        required: ['pages'],
      },
    });
    await tab.signIn(server.adminKey, `tasks/${id}`);
    await tab.page.getByLabel('pages', { exact: true }).fill('3');
    await tab.page.getByLabel(/^tone/).selectOption({ label: 'formal' });
    await tab.page.getByRole('button', { name: 'Answer' }).click();
    await tab.see('admin answered');
    const { history } = await lancelot.task(id);
    assert.deepEqual(history.find(({ event }: { event: string }) => event === 'input_given').answer, {
      pages: 3,
      tone: 'formal',
    });
  });

  it('cancels a task after it was asked', async () => {
    const tab = await newTab();
    const id = await lancelot.request();
    await tab.signIn(server.adminKey, `tasks/${id}`);
    await tab.page.getByRole('button', { name: 'Cancel…' }).click();
    await tab.page.getByRole('button', { name: 'Keep it' }).click();
    assert.equal((await lancelot.task(id)).state, 'requested');
    await tab.page.getByRole('button', { name: 'Cancel…' }).click();
    await tab.page.getByRole('button', { name: 'Cancel the task' }).click();
    await eventually(async () => assert.equal((await lancelot.task(id)).state, 'cancelled'));
  });

  it('keeps the filters of the list in the address, so that a link shows the same', async () => {
    await lancelot.request({ payload: { task: 'intel.weather' } });
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'tasks?status=completed');
    await tab.page.getByRole('row').nth(1).waitFor();
    const stateTexts = () => tab.page.locator('.list .row .badge').allTextContents();
    assert.ok((await stateTexts()).every((state) => state === 'completed'));
    await tab.page.getByRole('button', { name: 'All', exact: true }).click();
    await tab.page.getByRole('button', { name: 'Filters' }).click();
    await tab.page.getByLabel('Capability').fill('intel.weather');
    await eventually(async () =>
      assert.deepEqual(await tab.page.locator('.list .row .what').allTextContents(), ['intel.weather']),
    );
    assert.match(tab.page.url(), /type=intel.weather/);
    await tab.page.reload();
    await eventually(async () =>
      assert.deepEqual(await tab.page.locator('.list .row .what').allTextContents(), ['intel.weather']),
    );
  });

  it('retries what a filter matches, after it has said how many that are', async () => {
    for (let index = 0; index < 3; index++) {
      const id = await lancelot.request({ payload: { task: 'intel.weather' } });
      await galahad.claim();
      await galahad.fail(id, { error: 'no_forecast', message: 'No forecast.', retryable: false });
    }
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'tasks?error=no_forecast&status=failed,expired');
    await eventually(async () => assert.equal(await tab.page.locator('.list .row').count(), 3));
    await tab.page.getByRole('button', { name: 'Retry matching…' }).click();
    await eventually(async () => assert.equal(await tab.page.getByTestId('bulk-count').textContent(), '3'));
    await tab.assertAccessible('the preview of many');
    await tab.page.getByRole('button', { name: 'Retry 3' }).click();
    await tab.page
      .getByRole('dialog')
      .getByText(/3 queued again\./)
      .waitFor();
    const { tasks } = (await server.admin.call('GET', '/v1/tasks?type=intel.weather&status=failed')).body;
    assert.deepEqual(tasks, []);
  });

  it('shows a key that only reads no buttons', async () => {
    const made = await server.admin.call('POST', '/v1/keys', { name: 'viewer', scope: 'read' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const id = await lancelot.request();
    const tab = await newTab();
    await tab.signIn(made.body.key, `tasks/${id}`);
    await tab.see('lancelot requested it');
    for (const name of ['Cancel…', 'Run again…', 'Release']) {
      assert.equal(await tab.page.getByRole('button', { name }).count(), 0, name);
    }
    await tab.show('tasks?status=failed');
    await tab.page.getByRole('heading', { name: 'Tasks' }).waitFor();
    assert.equal(await tab.page.getByRole('button', { name: /matching/ }).count(), 0);
  });

  it('is accessible on every page, asks nobody else for anything, and logs no error', async () => {
    const id = await lancelot.request();
    const tab = await newTab();
    await tab.open();
    await tab.assertAccessible('sign in');
    await tab.signIn(server.adminKey);
    for (const path of PATHS.map((one) => one.replace('ID', id))) {
      await tab.show(path);
      await tab.page.locator('h1').waitFor();
      await eventually(async () => assert.equal(await tab.page.locator('[aria-busy]').count(), 0));
      await tab.assertAccessible(path);
      if (!IN_DARK.includes(path)) continue;
      await tab.page.emulateMedia({ colorScheme: 'dark' });
      await tab.assertAccessible(`${path} in the dark`);
      await tab.page.emulateMedia({ colorScheme: 'light' });
    }
    assert.deepEqual([tab.errors, tab.foreign], [[], []]);
  });

  it('draws only the rows in sight, loads more as it is scrolled, and keeps up with a burst of events', async () => {
    const tail = await newTab();
    await tail.signIn(server.adminKey, 'events');
    const sent: string[] = [];
    while (sent.length < MANY) {
      const messages = Array.from({ length: 25 }, () =>
        taskRequest('lancelot', { payload: { task: 'intel.weather' } }),
      );
      await lancelot.call('POST', '/v1/messages', { messages });
      sent.push(...messages.map(({ id }) => id));
    }
    await tail.page.locator(`.list a[title="${sent.at(-1)}"]`).waitFor();
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'tasks?type=intel.weather');
    const list = tab.page.getByRole('grid');
    await eventually(async () => assert.equal(await list.getAttribute('aria-rowcount'), '100'));
    for (let pages = 2; pages <= 6; pages++) {
      await tab.page.evaluate("document.querySelector('.list').scrollTop = 1e9");
      await eventually(async () => assert.ok(Number(await list.getAttribute('aria-rowcount')) >= pages * 100));
    }
    assert.ok((await tab.page.locator('.list .row').count()) < 60);
    assert.deepEqual([tab.errors, tail.errors], [[], []]);
  });

  it('says that the server is gone, and goes on by itself when it is back', async () => {
    const tab = await newTab();
    await tab.signIn(server.adminKey, 'tasks');
    await tab.page.getByRole('row').nth(1).waitFor();
    await server.kill('SIGKILL');
    await tab.see('Parley does not answer.');
    server = await startServer(OWNER, { dir, port });
    await tab.page.getByText('Parley does not answer.').waitFor({ state: 'hidden' });
    const id = await lancelot.request();
    await tab.page.locator(`a[title="${id}"]`).waitFor();
  });
});
