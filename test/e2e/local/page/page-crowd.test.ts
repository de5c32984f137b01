import type { Locator, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfig, roleArn } from '../../../../local/config.ts';
import { startTokenService } from '../../../../local/token-service/server.ts';
import { startBrokerHere } from '../../../support/processes/broker-here.ts';
import { runCommandLine } from '../../commands/shared/command-line.ts';
import { skipped, terminalOf, useBrowser } from './page-visitor.ts';

const { open } = useBrowser();

const FIRST = { client: 'client-1', service: 'loyalty' };
const SECOND = { client: 'client-2', service: 'loyalty' };
const LAST = { client: 'client-40', service: 'loyalty' };

const SERVICES = ['customer-insights', 'merchant-payment-cleansing', 'loyalty'];
/** In natural order, which is not the order of their letters. */
const CLIENTS = Array.from({ length: 40 }, (_, index) => `client-${index + 1}`);

/** The page of a broker with forty clients of three services. The caller `billing` may act for three of the clients. */
async function openCrowd(services = SERVICES) {
  const credentials = Object.fromEntries(services.map((service) => [service, []]));
  const tokenService = await startTokenService({ credentials, acceptedSecret: /^good-/ });
  onTestFinished(tokenService.close);
  const { callers } = exampleConfig(String);
  const config = {
    services: Object.fromEntries(services.map((service) => [service, { authUrl: tokenService.authUrl(service) }])),
    accessRules: [
      { role: roleArn('billing'), clients: CLIENTS.slice(0, 3), services: 'all' },
      { role: roleArn('operator'), clients: 'all', services: 'all', operations: ['token', 'check'] },
    ],
    callers,
    credentials: Object.fromEntries(
      CLIENTS.toSorted().map((client) => [client, { client_id: client, secret: 'good-1', services: 'all' }]),
    ),
  };
  return { ...(await open({}, await startBrokerHere(config))), tokenService };
}

const WIDE = { width: 1280, height: 800 };
const SMALL = { width: 320, height: 568 };
/** The page is looked at on each of these screens. */
const SCREENS = [WIDE, { width: 390, height: 844 }];

/** Looks at the page on each screen, from its top. */
async function onEach(screens: typeof SCREENS, page: Page, look: (screen: typeof WIDE) => Promise<unknown>) {
  for (const screen of screens) {
    await page.setViewportSize(screen);
    await page.evaluate(`[window, document.querySelector('.board')].forEach((part) => part.scrollTo(0, 0))`);
    await look(screen);
  }
}

/** Where an element is on the screen. */
async function box(element: Locator) {
  return (await element.boundingBox()) ?? { x: 0, y: Number.NaN, width: 0, height: 0 };
}

const answerTop = async (page: Page) => (await box(page.getByRole('heading', { name: 'Answer' }))).y;

describe.skipIf(skipped !== '')(`the page in Chromium${skipped}, with forty clients of three services`, () => {
  it('keeps the heads of the board and the answer in sight', async () => {
    const { page, cell, press } = await openCrowd();
    expect(await page.getByRole('rowheader').allInnerTexts()).toEqual(CLIENTS);
    await page.getByRole('radio', { name: 'operator' }).check();
    await onEach(SCREENS, page, async ({ height }) => {
      await cell(LAST).scrollIntoViewIfNeeded();
      const [head, last] = [await box(page.getByRole('columnheader', { name: 'loyalty' })), await box(cell(LAST))];
      expect(head.y).toBeGreaterThanOrEqual(0);
      expect(last.y - head.y).toBeGreaterThan(head.height - 1);
      expect(last.y + last.height - head.y).toBeLessThan(height * 0.6);
    });

    expect(await press(LAST)).toBe('issued');
    await onEach(SCREENS, page, async ({ width, height }) => {
      expect(await answerTop(page)).toBeGreaterThanOrEqual(0);
      expect(await answerTop(page)).toBeLessThan(height * 0.6);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    });
    await page.setViewportSize(WIDE);
    // The messages of a day make the left column long.
    await page.evaluate(`document.querySelector('.page > div').style.paddingBottom = '1000px'`);
    await page.getByRole('heading', { name: 'Messages to the operators' }).hover();
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    expect(await page.evaluate('scrollY')).toBeGreaterThan(500);
    expect(await answerTop(page)).toBeGreaterThanOrEqual(0);
    expect(await answerTop(page)).toBeLessThan(100);
  });

  /** @see folio-pro/kdashboard#49 */
  it('scrolls eight services below long names sideways, beside the clients', async () => {
    const longest = ['a', 'b'].map((letter) => letter.repeat(63));
    const services = [...SERVICES, ...longest, 'billing', 'cards', 'vouchers'];
    const { page, cell, press } = await openCrowd(services);
    const pair = { client: 'client-2', service: 'vouchers' };
    await onEach([WIDE, SMALL], page, async ({ width }) => {
      expect(await press(pair)).toBe('issued');
      const name = await box(page.getByRole('rowheader', { name: 'client-2', exact: true }));
      const pressed = await box(cell(pair));
      expect(pressed.width).toBeGreaterThan(75);
      expect(name.x).toBeGreaterThan(0);
      expect(pressed.x).toBeGreaterThanOrEqual(name.x + name.width);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect((await box(page.locator('thead'))).height).toBeLessThan(80);
      const words = cell({ ...pair, client: 'client-3' }).getByText('not tried yet', { exact: true });
      expect(await words.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
    });
  });

  it('has one tab stop for the board, and arrow keys in it', async () => {
    const { page, cell } = await openCrowd();
    const name = () => page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.innerText');
    const keys = async (...pressed: readonly string[]) => {
      for (const key of pressed) await page.keyboard.press(key);
      return name();
    };
    await onEach(SCREENS, page, async () => {
      await page.getByRole('radio', { name: 'a token' }).focus();
      expect(await keys('Tab')).toMatch(/^Ask for client-1 on customer-insights: /);
      expect(await keys('ArrowDown', 'ArrowDown', 'ArrowRight')).toMatch(/^Ask for client-3 on merchant-payment/);
      expect(await keys('End')).toMatch(/^Ask for client-3 on loyalty/);
      expect(await keys('ArrowLeft', 'ArrowUp')).toMatch(/^Ask for client-2 on merchant-payment/);
      expect(await keys('Control+End')).toMatch(/^Ask for client-40 on loyalty/);
      expect(await keys('ArrowDown')).toMatch(/^Ask for client-40 on loyalty/);
      expect(await keys('Tab')).toBe('Change client-1 from the command line');
      expect(await keys('Shift+Tab')).toMatch(/^Ask for client-40 on loyalty/);
      for (let row = 40; row > 20; row -= 1) await keys('ArrowUp');
      // The head of the board does not cover the cell.
      const head = await box(page.getByRole('columnheader', { name: 'loyalty' }));
      expect((await box(cell({ ...LAST, client: 'client-20' }))).y).toBeGreaterThanOrEqual(head.y + head.height);
      expect(await keys('Control+Home')).toMatch(/^Ask for client-1 on customer-insights: /);
      expect(await page.locator('.cell[tabindex="0"]').count()).toBe(1);
    });
  });

  it('shows a deleted client in other colours than a disabled one', async () => {
    const { page, broker, cell, press, shows, faults } = await openCrowd();
    const run = terminalOf(broker);
    for (const pair of [FIRST, SECOND]) await press(pair);
    await run('client delete client-1 --yes');
    await run('client disable client-2 --yes');
    await shows(FIRST, String.raw`deleted tokens until \d\d:\d\d`);
    await shows(SECOND, 'disabled .*');
    const styles = (selector: string, name: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`);
    const styleOf = (client: string, name: string, part = '') =>
      styles(`[title^="${client} on loyalty:"] ${part}`, name);
    const [deleted, disabled] = [await styleOf('client-1', '--colour'), await styleOf('client-2', '--colour')];
    expect(deleted).not.toBe(disabled);
    expect(deleted).toBe(await styles(':root', '--passing'));
    await onEach(SCREENS, page, async () => {
      expect((await box(cell(FIRST).locator('i'))).width).toBeGreaterThan(20);
      // No text makes a row grow.
      const heights = await Promise.all([FIRST, SECOND, LAST].map(async (pair) => (await box(cell(pair))).height));
      expect(new Set(heights).size).toBe(1);
      expect(await faults()).toEqual([]);
    });

    await page.getByRole('radio', { name: 'stranger' }).check();
    await shows(FIRST, String.raw`no rule deleted, tokens until \d\d:\d\d`);
    expect(await cell(FIRST).locator('b').innerText()).toBe('no rule');
    await page.getByRole('radio', { name: 'operator' }).check();
    await shows(LAST, 'not tried yet');
    expect(await styleOf('client-40', 'font-weight', 'b')).toBe('400');
    expect(await styleOf('client-1', 'font-weight', 'b')).toBe('700');
  });

  it('marks a service that is down in the head of its column', async () => {
    const { page, tokenService, cell, press } = await openCrowd();
    const head = page.getByRole('columnheader', { name: 'loyalty' });
    const tops = async () => {
      const found: number[] = [];
      await onEach(SCREENS, page, async () => found.push(Math.round((await box(cell(FIRST))).y)));
      return found;
    };
    const before = await tops();
    tokenService.behave('loyalty', { fault: 'reset' });
    expect(await press(FIRST)).toBe('token-endpoint-unavailable');
    await head.getByText('down').waitFor();
    // Nothing on the board moves.
    expect(await tops()).toEqual(before);
    tokenService.behave('loyalty', {});
    expect(await press(SECOND)).toBe('issued');
    await head.getByText('down').waitFor({ state: 'detached' });
  });

  it('plays an outage of the table, and shows what was remembered', async () => {
    const { page, broker, said, press, way, play, faults } = await openCrowd();
    await press(FIRST);
    await play('table', 'down');
    await said('table: it answers no call');
    expect(await press(SECOND)).toBe('table-unavailable');
    const lost = ['caller passed: signed', 'broker passed: allowed', 'memory passed: remembered nothing that serves'];
    expect(await way()).toEqual([...lost, 'table failed: table-unavailable']);
    await expect
      .poll(
        async () => {
          broker.letTimePass(61_000);
          await press(FIRST);
          return way();
        },
        { timeout: 60_000 },
      )
      .toEqual([
        ...['caller passed: signed', 'broker passed: allowed', 'memory answered: remembered the answer'],
        ...['table failed: table-unavailable', 'secret passed: read'],
      ]);
    await onEach(SCREENS, page, async () => expect(await faults()).toEqual([]));
    await play('table', 'works');
    // The circuit of the table closes after a moment.
    await expect.poll(() => press(SECOND), { timeout: 60_000 }).toBe('issued');
  });

  it('offers the command that creates the first client', async () => {
    const { callers, services } = exampleConfig((name) => `https://${name}.example.com`);
    const rule = { role: roleArn('operator'), clients: 'all', services: 'all', operations: ['token', 'check'] };
    const broker = await startBrokerHere({ services, accessRules: [rule], callers, credentials: {} });
    const { page, faults } = await open({ permissions: ['clipboard-read', 'clipboard-write'] }, broker);
    await page.getByText('No clients yet: create a client').waitFor();
    expect(await page.getByRole('columnheader').count()).toBe(0);
    await page.getByRole('button', { name: 'Copy client put --create' }).click();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    const words = /-- (client put .*)\)$/.exec(command)?.[1] ?? '';
    expect(await faults()).toEqual([]);

    // The services of this configuration cannot be reached, so the command stores the credential untried.
    const credential = JSON.stringify({ client_id: 'acme-id', secret: 'made-up' });
    const { stderr } = await runCommandLine([...words.split(' '), '--yes'], broker.shell, credential);
    expect(stderr).toContain('Storing version');
    await page.getByRole('rowheader', { name: 'acme' }).waitFor();
    expect(await page.getByText('No clients yet').count()).toBe(0);
  });
});
