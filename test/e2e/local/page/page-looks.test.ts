import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { startBrokerHere } from '../../../support/processes/broker-here.ts';
import { ACME, CLEANSING, INITECH, PAIRS, skipped, useBrowser, type Visitor } from './page-visitor.ts';

const { open } = useBrowser();

/** What a designer and a screen reader meet, one after the other; each leaves the page as the next one finds it. */
const STATES: readonly (readonly [name: string, show: (visitor: Visitor) => Promise<unknown>])[] = [
  ['before the first call', async () => undefined],
  ['with an answer', ({ press }) => press(ACME)],
  ['with a token shown', showToken],
  ['with a rejection', ({ press }) => press(INITECH)],
  ['with a refusal', showRefusal],
  ['during an incident', showIncident],
  ['with all that is folded', unfoldAll],
];

/** The widths of a screen, a tablet, a phone and a small phone, each in colours of its own. */
const LOOKS = [
  { width: 1280, colorScheme: 'light', forcedColors: 'none' },
  { width: 768, colorScheme: 'dark', forcedColors: 'none' },
  { width: 390, colorScheme: 'light', forcedColors: 'none' },
  { width: 320, colorScheme: 'light', forcedColors: 'active' },
] as const;
const HEIGHT = 800;

/** The page asks the broker again for the token, and moves when it has come. */
async function showToken({ page }: Visitor): Promise<void> {
  await page.getByRole('button', { name: 'Show token' }).click();
  await page.getByRole('button', { name: 'Show token', pressed: true }).waitFor();
}

async function showRefusal({ page, press }: Visitor): Promise<void> {
  await page.getByRole('radio', { name: 'stranger' }).check();
  await press(ACME);
}

async function showIncident({ page, play, press, said }: Visitor): Promise<void> {
  await page.getByRole('radio', { name: 'billing' }).check();
  await play('merchant-payment-cleansing', 'throttles');
  await press({ client: 'globex', service: 'merchant-payment-cleansing' });
  await page.getByRole('button', { name: 'Run the checks' }).click();
  await said('Every pair was checked.');
  await page
    .getByRole('heading', { name: /on customer-insights$/ })
    .first()
    .waitFor();
}

async function unfoldAll({ unfold }: Visitor): Promise<void> {
  for (const name of ['from the command line', 'Other names', 'Raw answer', 'schedule', 'The whole message']) {
    await unfold(name);
  }
}

describe.skipIf(skipped !== '')(`the page in Chromium${skipped}`, () => {
  it('works with the keyboard alone', async () => {
    const { page, said } = await open();
    const focus = () =>
      page.evaluate(`(({ ariaLabel, labels, textContent }) =>
      ariaLabel ?? labels?.[0]?.textContent.trim() ?? textContent)(document.activeElement)`);
    const tab = async () => {
      await page.keyboard.press('Tab');
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      return focus();
    };

    expect(await tab()).toBe('billing');
    await page.keyboard.press('ArrowRight');
    expect(await focus()).toBe('reporting');
    expect(await tab()).toBe('a token');
    expect(await tab()).toMatch(/^Ask for acme on customer-insights: /);
    await page.keyboard.press('Enter');
    await said('issued reporting asked for acme');
    // The focus stays where it was.
    await page.keyboard.press('ArrowRight');
    expect(await focus()).toMatch(/^Ask for acme on merchant-payment-cleansing: /);
    await page.keyboard.press('Space');
    await said('access-denied reporting');
    const stops = [];
    while (stops.length < 11) stops.push(await tab());
    expect(stops).toEqual([
      ...['Change acme from the command line', 'Other names, minimum life time, who am I'],
      ...['works', 'Revoke its tokens: customer-insights', 'works', 'Revoke its tokens: merchant-payment-cleansing'],
      'works',
      ...['Run the checks', 'Copy whoami', expect.stringMatching(/^Copy request id [\w-]{36}$/)],
      'Raw answer and request, commands to repeat the call',
    ]);
  });

  it('has no fault that axe-core finds, the answer in sight and all of its width, in each state and look', async () => {
    const visitor = await open();
    const { page, faults } = visitor;
    const answer = page.getByRole('heading', { name: 'Answer' });
    const message = page.getByRole('region', { name: 'Messages to the operators' }).locator('details > p').first();
    const outlines = `[...document.querySelectorAll('[aria-pressed="true"], fieldset label:has(:checked)')].map((e) =>
      getComputedStyle(e).outlineStyle)`;
    for (const [name, show] of STATES) {
      await show(visitor);
      for (const { width, ...media } of LOOKS) {
        await page.setViewportSize({ width, height: HEIGHT });
        await page.emulateMedia(media);
        const at = `${name}, ${width} px wide`;
        // A narrow page has the colours of a wide one.
        if (width >= 768 || name.startsWith('with all')) expect(await faults(), at).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        const cut = `[...document.querySelectorAll('main *')].filter((e) => !e.closest('[title]') && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map((e) => e.outerHTML)`;
        expect(await page.evaluate(cut), at).toEqual([]);
        // No name of a station breaks into two lines.
        const broken = `[...document.querySelectorAll('.way b')].filter((e) => e.offsetHeight > 25).length`;
        expect(await page.evaluate(broken), at).toBe(0);
        if (media.forcedColors === 'active')
          expect(new Set(await page.evaluate<string[]>(outlines)), at).toEqual(new Set(['solid']));
        await page.evaluate('scrollTo(0, 0)');
        const bottomOf = (part: Locator) => part.evaluate((element) => element.getBoundingClientRect().bottom);
        if (name === 'with an answer') expect(await bottomOf(answer), at).toBeLessThan(HEIGHT - 75);
        // No message needs scrolling on a wide screen.
        if (name === 'during an incident' && width === 1280) expect(await bottomOf(message), at).toBeLessThan(HEIGHT);
      }
    }
  });

  it('fills its first screen, without an address', async () => {
    const { page } = await open();
    for (const { width } of [LOOKS[0], LOOKS[2]]) {
      await page.setViewportSize({ width, height: HEIGHT });
      const sections = await page.getByRole('region').all();
      const boxes = await Promise.all(sections.map((section) => section.boundingBox()));
      const heightOnScreen = (box: { y: number; height: number }) => Math.min(HEIGHT, box.y + box.height) - box.y;
      const areas = boxes.map((box) => (box && box.y < HEIGHT ? box.width * heightOnScreen(box) : 0));
      expect(areas.reduce((sum, area) => sum + area) / (width * HEIGHT)).toBeGreaterThan(0.7);
    }
    expect(await page.getByText('http://').filter({ visible: true }).count()).toBe(0);
  });

  /** `PAGE_SCREENSHOT=docs/page.png npx vitest run test/e2e/local/page-looks` makes the picture of README.md anew. */
  const { PAGE_SCREENSHOT: path } = process.env;
  if (path === undefined) return;
  it('is pictured', async () => {
    const broker = await startBrokerHere(undefined, 8788);
    const { page, said, refuse, press, shows, play } = await open({ viewport: { width: 1280, height: 800 } }, broker);
    for (const pair of PAIRS) await press(pair);
    // A token is not refused right after it was issued.
    broker.letTimePass(61_000);
    await play('merchant-payment-cleansing', 'throttles');
    for (const pair of [CLEANSING, ACME]) {
      await press(pair);
      await refuse();
    }
    await shows(CLEANSING, 'paused .*');
    await page.getByRole('button', { name: 'Run the checks' }).click();
    await said('Every pair was checked.');
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path });
  });
});
