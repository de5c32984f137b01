import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Response,
} from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { runs } from '../../../support/aws/signers.ts';
import { type BrokerHere, startBrokerHere } from '../../../support/processes/broker-here.ts';
import { runCommandLine } from '../../commands/shared/command-line.ts';

/** The command that starts Chromium on this machine, if it is there. */
const CHROMIUM = (process.env.PATH ?? '')
  .split(':')
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome-stable'].map((name) => join(folder, name)))
  .find((path) => runs(path, '--version'));

/** Why tests in a browser are skipped, if they are. */
export const skipped = CHROMIUM === undefined ? ' (skipped: Chromium is not installed)' : '';

/** How long a busy machine may take; a browser that hangs for longer is ended with the test. */
const PATIENCE_MS = 100_000;

export const ACME = { client: 'acme', service: 'customer-insights' };
export const INITECH = { client: 'initech', service: 'customer-insights' };
export const GLOBEX = { client: 'globex', service: 'customer-insights' };
export const CLEANSING = { client: 'acme', service: 'merchant-payment-cleansing' };

/** In the order of the page. */
export const PAIRS = ['acme', 'globex', 'initech'].flatMap((client) =>
  ['customer-insights', 'merchant-payment-cleansing'].map((service) => ({ client, service })),
);

export type Visitor = Awaited<ReturnType<ReturnType<typeof useBrowser>['open']>>;

/** A browser for all tests of a file. */
export function useBrowser() {
  let browser: Browser;
  beforeAll(async () => {
    if (CHROMIUM !== undefined) browser = await startChromium(CHROMIUM);
  });
  afterAll(() => browser?.close());
  return {
    browser: () => browser,
    /** Opens the page of a broker for the length of a test, which fails when the page complains about anything. */
    async open(options: BrowserContextOptions = {}, given?: BrokerHere) {
      // An incident that one test plays must not be there for the next.
      const broker = given ?? (await startBrokerHere());
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const complaints: string[] = [];
      const responses: Response[] = [];
      // What the content security policy forbids is said there, too.
      page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
      page.on('response', (response) => responses.push(response));
      onTestFinished(async () => {
        await context.close();
        expect(complaints).toEqual([]);
      });
      await page.goto(broker.pageUrl);
      await connected(page);
      /** The texts of all answers so far. */
      const received = async () => (await Promise.all(responses.map((each) => each.text()))).join('\n');
      return { page, broker, received, ...visitorOf(page) };
    },
  };
}

/** A browser that has no history and makes no requests of its own. */
async function startChromium(executablePath: string): Promise<Browser> {
  const home = mkdtempSync(join(tmpdir(), 'chromium-'));
  const quiet = ['background-networking', 'component-update', 'sync', 'gpu', 'quic'].map((part) => `--disable-${part}`);
  const browser = await chromium.launch({
    executablePath,
    args: [...quiet, '--no-first-run'],
    timeout: PATIENCE_MS,
    env: { ...process.env, HOME: home },
  });
  return browser.once('disconnected', () => rmSync(home, { recursive: true, force: true }));
}

export function connected(page: Page): Promise<void> {
  return page.getByText('live', { exact: true }).waitFor();
}

/** What a visitor of the page does, and waits for. */
export function visitorOf(page: Page) {
  /** Waits until the page says this. */
  const said = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  /** The cell of a pair on the board. */
  const cell = ({ client, service }: typeof ACME) =>
    page.getByRole('button', { name: `Ask for ${client} on ${service}:` });
  /** Presses a button and waits for the answer of the broker that says this; gives its outcome. */
  const answered = async (button: Locator, text = 'asked for') => {
    const answer = page.waitForResponse('**/call');
    await button.click();
    await answer;
    await said(text);
    return page.getByRole('status').filter({ hasText: text }).locator('strong').innerText();
  };
  return {
    said,
    cell,
    answered,
    /** Presses the cell of a pair and waits for the answer; gives its outcome. */
    press: (pair: typeof ACME) => answered(cell(pair), `asked for ${pair.client} on ${pair.service},`),

    /** Reports the token of the last answer as refused; gives the outcome. */
    refuse: () => answered(page.getByRole('button', { name: 'Report it as refused' })),

    /** Waits until the board shows a state of a pair that fits the pattern, with its notes. */
    shows: ({ client, service }: typeof ACME, state: string) =>
      page.getByRole('button', { name: new RegExp(`^Ask for ${client} on ${service}: ${state}$`) }).waitFor(),

    /** The path of the last call: each station that it came to, what became of it there, and how it is noted. */
    async way(): Promise<readonly string[]> {
      const stations = await page.getByRole('list', { name: 'The path of the call' }).getByRole('listitem').all();
      const told = stations.map(async (station) => {
        const name = await station.locator('b').innerText();
        const note = await station.locator('span').first().innerText();
        const state = await station.getByRole('img').getAttribute('aria-label');
        return state === 'not asked' ? [] : [`${name} ${state}: ${note}`];
      });
      return (await Promise.all(told)).flat();
    },

    /** Lets a service play an incident. */
    async play(service: string, incident: string): Promise<void> {
      const group = page.getByRole('group', { name: service });
      await group.getByRole('radio', { name: incident }).click();
      await said(`${service}: `);
      await group.getByRole('radio', { name: incident, checked: true }).waitFor();
    },

    /** Unfolds what is folded under this name, and gives the part that shows. */
    async unfold(name: string): Promise<Locator> {
      const summary = page.locator('summary').filter({ hasText: name }).first();
      await summary.click();
      return summary.locator('xpath=..');
    },

    /** The rules of axe-core that the page breaks, and where; a contrast that it cannot tell counts as too low. */
    async faults(): Promise<readonly string[]> {
      // A docked answer covers a part of the page, and clips itself. In its own place and whole, axe-core sees all.
      const dock = (maxHeight: string) =>
        page.evaluate(`document.querySelector('section:has(.way, img)').style.maxHeight = '${maxHeight}'`);
      await dock('none');
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      await page.evaluate(axe.source);
      const faults = await page.evaluate<readonly string[]>(`axe.run().then(({ violations, incomplete }) =>
        [...violations, ...incomplete.filter(({ id }) => id === 'color-contrast')].flatMap(({ id, nodes }) =>
          nodes.map(({ html }) => id + ': ' + html)))`);
      await dock('');
      return faults;
    },
  };
}

/** A terminal of the operator of a broker. */
export function terminalOf({ shell }: BrokerHere) {
  return async (line: string, input?: string) => {
    const { exitCode, stderr } = await runCommandLine(line.split(' '), shell, input);
    expect(exitCode, stderr).toBe(0);
  };
}
