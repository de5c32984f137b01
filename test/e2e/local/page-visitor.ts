import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { CHROMIUM, startChromium, type Visit, visit } from '../../support/chromium.ts';
import { type LocalBrokerProcess, pageUrl, startLocalBroker } from '../../support/local-broker.ts';

/** Why tests in a browser are skipped, if they are. */
export const skipped = CHROMIUM === undefined ? ' (skipped: Chromium is not installed)' : '';

export const ACME = { client: 'acme', service: 'customer-insights' };
export const INITECH = { client: 'initech', service: 'customer-insights' };

/** In the order of the page. */
export const PAIRS = ['acme', 'globex', 'initech'].flatMap((client) =>
  ['customer-insights', 'merchant-payment-cleansing'].map((service) => ({ client, service })),
);

/** A browser and a broker for all tests of a file. */
export function useBrowser() {
  let browser: Browser;
  let broker: LocalBrokerProcess;
  beforeAll(async () => {
    if (CHROMIUM !== undefined) [browser, broker] = await Promise.all([startChromium(CHROMIUM), startLocalBroker()]);
  });
  afterAll(async () => {
    if (CHROMIUM === undefined) return;
    await browser.close();
    expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
  });
  return {
    broker: () => broker,
    browser: () => browser,
    async open(options: BrowserContextOptions = {}, url = pageUrl(broker)): Promise<Visit> {
      const visited = await visit(browser, url, options);
      await connected(visited.page);
      return visited;
    },
  };
}

export function connected(page: Page): Promise<void> {
  return page.getByText('live', { exact: true }).waitFor();
}

/** Presses the button of a pair and waits for the answer; gives the outcome that stands beneath it. */
export async function press(page: Page, { client, service }: typeof ACME): Promise<string | null> {
  const button = page.getByRole('button', { name: `Ask for ${client} on ${service}` });
  await button.click();
  await said(page, `asked for ${client} on ${service},`);
  return button.locator('xpath=following-sibling::*').textContent();
}

/** Waits until the page says this. */
export function said(page: Page, text: string): Promise<void> {
  return page.getByRole('status').filter({ hasText: text }).waitFor();
}
