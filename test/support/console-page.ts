import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { atEndOf, type Owner } from './server-process.ts';

/** A tab with the console. What its page logs as an error, and what it asks of others, is kept. */
export class ConsoleTab {
  readonly page: Page;
  readonly address: string;
  readonly errors: string[] = [];
  readonly foreign: string[] = [];

  constructor(page: Page, address: string) {
    this.page = page;
    this.address = address;
    page.setDefaultTimeout(10_000);
    page.on('pageerror', (error) => this.errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(message.text());
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${address}/`) && !/^(data|blob):/.test(url)) this.foreign.push(url);
    });
  }

  async open(path = ''): Promise<void> {
    await this.page.goto(`${this.address}/console/#/${path}`);
  }

  async signIn(key: string, path = ''): Promise<void> {
    await this.open(path);
    await this.page.getByLabel('Key').fill(key);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('navigation').waitFor();
    // What is under the pointer does not move.
    await this.page.mouse.move(0, 0);
  }

  async show(path: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`);
  }

  see(text: string | RegExp) {
    return this.page.getByText(text).first().waitFor();
  }

  /** Rules of WCAG A and AA, which axe can check. */
  async assertAccessible(where: string): Promise<void> {
    await this.page.evaluate(AXE);
    const found = (await this.page.evaluate(
      `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, any }) => html.slice(0, 120) + ' ' + (any[0]?.message ?? '')).join(' | ')))`,
    )) as string[];
    assert.deepEqual(found, [], where);
  }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const openTab = async (
  owner: Owner,
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<ConsoleTab> => {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 }, ...options });
  atEndOf(owner, () => context.close());
  return new ConsoleTab(await context.newPage(), address);
};
