import { describe, expect, it, onTestFinished } from 'vitest';
import { pageUrl, startLocalBroker } from '../../support/processes/local-broker.ts';
import { ACME, PAIRS, press, said, skipped, useBrowser } from './page-visitor.ts';

const { open } = useBrowser();

describe.skipIf(skipped !== '')(`the page in Chromium${skipped}`, () => {
  it('works with the keyboard alone, and every control has a name', async () => {
    const { page } = await open();
    const focus = () => page.evaluate(`document.activeElement.ariaLabel ?? document.activeElement.value`);
    const tab = async () => {
      await page.keyboard.press('Tab');
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      return focus();
    };

    expect(await tab()).toBe('AKIDLOCALBILLING');
    await page.keyboard.press('ArrowRight');
    expect(await focus()).toBe('AKIDLOCALREPORTING');
    const stops = [await tab(), await tab(), await tab(), await tab()];
    expect(stops).toEqual(['', 'token', '', 'Ask for acme on customer-insights']);
    await page.keyboard.press('Enter');
    await said(page, 'issued: reporting asked for acme');
    // The focus stays where it was.
    expect(await tab()).toBe('Ask for acme on merchant-payment-cleansing');
    await page.keyboard.press('Space');
    await said(page, 'access-denied: reporting');

    const unnamed = `[...document.querySelectorAll('input')].filter(({ labels }) => !labels[0]?.textContent.trim()).length`;
    expect(await page.evaluate(unnamed)).toBe(0);
    expect(await page.getByRole('button', { name: /^$/ }).count()).toBe(0);
  });

  it.each([320, 360, 768, 1280])(
    'has the answer in sight, and all of its width, when it is %i px wide',
    async (width) => {
      const { page } = await open({ viewport: { width, height: 844 } });
      for (const pair of PAIRS.toReversed()) await press(page, pair);
      expect(await page.evaluate(`document.getElementById('summary').getBoundingClientRect().top`)).toBeLessThan(200);

      await page.getByRole('button', { name: 'Show token' }).click();
      await page.getByRole('button', { name: 'Show token', pressed: true }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      // On the narrowest phones a table may scroll inside its own box (WCAG 2.2, 1.4.10).
      if (width === 320) return;
      const cut = `[...document.querySelectorAll('main *')].filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).length`;
      expect(await page.evaluate(cut)).toBe(0);
    },
  );

  it.each(['light', 'dark'] as const)('can be read in %s colours', async (colorScheme) => {
    const { page } = await open({ colorScheme });
    for (const pair of PAIRS.toReversed()) await press(page, pair);

    const { texts, worst }: Contrasts = await page.evaluate(`(${contrasts})()`);
    expect(texts).toBeGreaterThan(50);
    expect(worst.ratio, worst.text).toBeGreaterThanOrEqual(4.5);
  });

  /** `PAGE_SCREENSHOT=docs/page.png npx vitest run test/e2e/local/page-looks` makes the picture of README.md anew. */
  const { PAGE_SCREENSHOT: path } = process.env;
  if (path === undefined) return;
  it('is pictured', async () => {
    const own = await startLocalBroker({ env: { PORT: '8788' } });
    onTestFinished(async () => void (await own.end()));
    const { page } = await open({ viewport: { width: 1200, height: 1120 } }, pageUrl(own));
    await page.getByRole('radio', { name: 'reporting' }).check();
    await press(page, { ...ACME, client: 'globex' });
    await page.getByRole('radio', { name: 'billing' }).check();
    for (const pair of PAIRS.slice(0, 5).toReversed()) await press(page, pair);
    await page.screenshot({ path });
  });
});

interface Contrasts {
  readonly texts: number;
  readonly worst: { readonly ratio: number; readonly text: string };
}

/** Runs in the page: the contrast of every visible text with what is behind it, as WCAG 2 reckons. */
const contrasts = `() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => parts(color).slice(0, 3)
    .map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return parts(color)[3] === 0 ? behind(element.parentElement) : color;
  };
  const found = [...document.querySelectorAll('body *')]
    .filter((element) => element.checkVisibility() && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((element) => {
      const [dark, light] = [getComputedStyle(element).color, behind(element)].map(luminance).toSorted((a, b) => a - b);
      return { ratio: (light + 0.05) / (dark + 0.05), text: element.textContent };
    });
  return { texts: found.length, worst: found.toSorted((a, b) => a.ratio - b.ratio)[0] };
}`;
