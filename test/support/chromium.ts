import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Response } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { runs } from './signers.ts';

/** The command that starts Chromium on this machine, if it is there. */
export const CHROMIUM = (process.env.PATH ?? '')
  .split(':')
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome-stable'].map((name) => join(folder, name)))
  .find((path) => runs(path, '--version'));

/** Starts a browser that has no history and makes no requests of its own. */
export async function startChromium(executablePath: string): Promise<Browser> {
  const home = mkdtempSync(join(tmpdir(), 'chromium-'));
  const args = [
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ];
  const browser = await chromium.launch({
    executablePath,
    args,
    timeout: PATIENCE_MS,
    env: { ...process.env, HOME: home },
  });
  browser.once('disconnected', () => rmSync(home, { recursive: true, force: true }));
  return browser;
}

/** How long a busy machine may take; a browser that hangs for longer is ended with the test. */
const PATIENCE_MS = 100_000;

export interface Visit {
  readonly page: Page;
  /** The texts of all answers so far, but for those that have no end. */
  readonly received: () => Promise<string>;
}

/** Opens a page for the length of a test, which fails when the page complains about anything. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  const responses: Response[] = [];
  // What the content security policy forbids is said there, too.
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  page.on('response', (response) => {
    if (response.headers()['content-type'] !== 'text/event-stream') responses.push(response);
  });
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(url);
  return { page, received: async () => (await Promise.all(responses.map((each) => each.text()))).join('\n') };
}
