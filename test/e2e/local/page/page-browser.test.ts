import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfig } from '../../../../local/config.ts';
import type { CallReport } from '../../../../local/page/messages.ts';
import { startBrokerHere } from '../../../support/processes/broker-here.ts';
import { ask, freePorts, useLocalBroker } from '../../../support/processes/local-broker.ts';
import { send } from '../../../support/requests.ts';
import { ROOT } from '../../commands/shared/command-line.ts';
import { ACME, connected, GLOBEX, INITECH, PAIRS, skipped, useBrowser, visitorOf } from './page-visitor.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };

/** The callers' keys and the clients' credentials. */
const SECRETS = [
  ...exampleConfig(String).callers.map(({ secretAccessKey }) => secretAccessKey),
  ...Object.values(exampleConfig(String).credentials).flatMap((credential) => Object.values(credential)),
];

const { open, browser } = useBrowser();

/** What a request comes to, page.test.ts and page-state.test.ts show; the board and the ways, page-board.test.ts. */
describe.skipIf(skipped !== '')(`the page in Chromium${skipped}`, () => {
  it('asks as the chosen caller, greys what no rule allows, and receives no key and no token', async () => {
    const { page, broker, received, said, press, unfold } = await open();
    const denied = () => page.getByRole('button', { name: /^Ask for .* no rule/ }).count();
    await page.getByRole('radio', { name: 'reporting' }).check();
    expect(await denied()).toBe(13);
    expect(await press(INITECH)).toBe('access-denied');
    await page.getByRole('radio', { name: 'billing' }).check();
    expect(await denied()).toBe(8);
    const outcomes = [];
    for (const pair of PAIRS) outcomes.push(await press(pair));
    expect(outcomes).toEqual([...Array(3).fill('issued'), ...Array(3).fill('credential-rejected')]);
    await page.getByRole('radio', { name: 'operator' }).check();
    await page.getByRole('radio', { name: 'a check' }).check();
    expect(await press(ACME)).toBe('accepted');
    expect(await press(INITECH)).toBe('rejected');
    await unfold('who am I');
    await page.getByRole('button', { name: 'Who am I?' }).click();
    await said('identified operator asked who it is, 200');

    const tokens = PAIRS.slice(0, 3).map(async (pair) => (await ask(broker, BILLING, pair)).json.access_token);
    const seen = (await received()) + (await page.content());
    expect(seen).toContain('operator');
    for (const hidden of [...SECRETS, ...(await Promise.all(tokens))]) expect(seen).not.toContain(hidden);
    expect(seen).not.toMatch(/Signature=[0-9a-f]/);
  });

  it('shows the advice, four facts, a token while the visitor wants it, the raw messages, and commands to copy', async () => {
    const { page, broker, press, unfold } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const clipboard = () => page.evaluate('navigator.clipboard.readText()');
    await press(ACME);
    const facts = await page.locator('.report dt').allInnerTexts();
    expect(facts).toEqual(['expires in', 'source', 'fingerprint', 'request id']);
    const { json } = await ask(broker, BILLING, ACME);
    const show = page.getByRole('button', { name: 'Show token' });
    await show.click();
    await page.getByText(json.access_token).waitFor();
    expect(await show.getAttribute('aria-pressed')).toBe('true');
    await show.click();
    await page.getByRole('button', { name: 'Show token', pressed: false }).waitFor();
    expect(await page.content()).not.toContain(json.access_token);

    await press(INITECH);
    expect(await show.isVisible()).toBe(false);
    await page.getByText('An operator stores the right credential in token-broker/local/initech').waitFor();
    await page.getByRole('button', { name: 'Copy client put initech' }).first().click();
    await page.getByRole('button', { name: 'Copied client put initech' }).waitFor();
    expect(await clipboard()).toMatch(
      /^\(eval .* env operator\)"\nnpm run --silent token-broker -- client put initech\)$/,
    );

    const raw = await unfold('Raw answer');
    const text = raw.locator('pre');
    expect(await text.innerText()).toMatch(/^424 .*"type": "credential-rejected"/s);
    await raw.getByRole('radio', { name: 'request' }).check();
    expect(await text.innerText()).toMatch(/^POST \S+\/token\n.*"client": "initech"/s);
    await raw.getByRole('radio', { name: 'curl' }).check();
    const command = await text.innerText();
    await raw.getByRole('button', { name: 'Copy' }).click();
    await raw.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard()).toBe(command);
  });

  it('keeps the answer to the last question in sight when that of an earlier one comes late', async () => {
    const { page, said, cell, answered, press, unfold } = await open();
    const last = Promise.withResolvers<void>();
    await page.route('**/call', async (route) => {
      if (route.request().postData()?.includes('acme')) await last.promise;
      await route.continue();
    });
    const late = page.waitForResponse((response) => response.request().postData()?.includes('acme') ?? false);
    await press(GLOBEX);
    for (const name of ['from the command line', 'Other names']) await unfold(name);
    await cell(ACME).click();
    // The ring and the way are those of the running call. The old report offers nothing.
    await page.getByRole('button', { name: /^Ask for acme on customer-insights/, pressed: true }).waitFor();
    await said('Asking for acme on customer-insights …');
    expect(await page.locator('.report button:enabled').count()).toBe(0);
    // No label is without its value.
    const empty = `[...document.querySelectorAll('dl div, .row > details')].filter((e) => e.checkVisibility() &&
      ![...e.querySelectorAll('dd, .row > button, form')].some((value) => value.innerText)).map((e) => e.innerText)`;
    expect(await page.evaluate(empty)).toEqual([]);
    await page.getByRole('list', { name: 'The path of the call' }).getByRole('img', { name: 'running' }).waitFor();
    await answered(cell(INITECH), 'asked for initech');
    last.resolve();
    await (await late).finished();
    await said('credential-rejected billing asked for initech');
  });

  it('hands on how long a token should live, and any other name, which it shows as the text that it is', async () => {
    const { page, said, press, unfold } = await open();
    const odd = '<img src=x onerror=alert(1)>';
    const pictures = await page.locator('img').count();
    await unfold('Other names');
    await page.getByRole('textbox', { name: 'Seconds to live' }).fill('-1');
    expect(await press(ACME)).toBe('invalid-request');
    await page.getByText('min_ttl: must be 0 or more.', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Client' }).fill(odd);
    await page.getByRole('textbox', { name: 'Service' }).fill(odd);
    await page.getByRole('textbox', { name: 'Service' }).press('Enter');
    await said(`invalid-request billing asked for ${odd} on ${odd}, 400`);
    expect(await page.locator('img').count()).toBeLessThan(pictures + 1);
  });

  it('lists each request as it comes, those of others and those that AWS refuses too, with their audit lines', async () => {
    const { page, broker } = await open();
    const rows = page.getByRole('region', { name: 'Recent requests' }).locator('details');
    await ask(broker, BILLING, { ...ACME, client: 'umbrella' });
    const row = rows.filter({ hasText: 'umbrella/customer-insights' });
    expect(await row.locator('summary').innerText()).toMatch(
      /^[\d:]{8} access-denied billing, umbrella\/customer-insights, \d+ ms$/,
    );
    await row.locator('summary').click();
    await row.locator('pre').filter({ hasText: '"outcome": "access-denied"' }).waitFor();
    await ask(broker, { ...BILLING, secretAccessKey: 'wrong' }, ACME);
    const refused = rows.first().filter({ hasText: 'AWS answered 403' });
    await refused.locator('summary').click();
    await refused.getByText('The broker was not called.').waitFor();
  });

  it('comes back to a broker that was started again', async () => {
    const port = await freePorts(4);
    const first = await startBrokerHere(undefined, port);
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const { press, said } = visitorOf(page);
    await page.goto(first.pageUrl);
    await connected(page);
    await page.getByRole('radio', { name: 'operator' }).check();
    await press(ACME);
    const requests = page.getByRole('region', { name: 'Recent requests' });
    await requests.getByText('issued').waitFor();

    await first.close();
    const bar = page.getByRole('alert');
    await bar.waitFor();
    expect(await bar.innerText()).toMatch(/^npm start has ended\. The page shows the state of [\d:]{8}\.$/);
    expect(await page.locator('button:enabled, input:enabled').count()).toBe(0);
    // The board still shows its state.
    expect(await page.locator('.cell').filter({ visible: true }).count()).toBe(14);
    expect(await page.locator('button:not(.cell)').filter({ visible: true }).count()).toBe(0);
    // No label remains whose value or control has vanished.
    for (const label of ['fingerprint', 'request id', 'from the command line', 'Other names']) {
      expect(await page.getByText(label).filter({ visible: true }).count(), label).toBe(0);
    }
    await startBrokerHere(undefined, port);
    await connected(page);
    await requests.getByText('No requests yet.').waitFor();
    // The caller that was chosen before is still the one who asks.
    await press(ACME);
    await said('issued operator asked for acme');
  });
});

describe('the commands that the page shows', () => {
  const broker = useLocalBroker();

  it.each([
    ['a token', { ...ACME, operation: 'token', min_ttl: 60 }, ['curl', 'command line'], /fingerprint\W+[0-9a-f]{16}/],
    ['a check', { ...ACME, operation: 'check' }, ['command line'], /accepted/],
    ['who it is', { operation: 'whoami' }, ['curl'], /role\/operator/],
    [
      'names for the broker to judge',
      { operation: 'token', client: `o'neil $(false) "<b>`, service: '' },
      ['curl', 'command line'],
      /invalid-request|argument 'client' is invalid/,
    ],
  ])('ask for %s as the chosen caller when they are pasted', async (_, form, names, expected) => {
    const url = broker().pageUrl;
    const headers = { origin: url, 'content-type': 'application/json' };
    const body = JSON.stringify({ caller: 'AKIDLOCALOPERATOR', ...form });
    const report: CallReport = JSON.parse((await send({ method: 'POST', url: `${url}/call`, headers, body })).body);
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ...env } = process.env;
    for (const name of names) {
      const text = report.texts.find((entry) => entry.name === name)?.text;
      const { stdout } = await promisify(execFile)('sh', ['-c', `(${text}) 2>&1 || true`], { cwd: ROOT, env });
      expect(stdout, name).toMatch(expected);
    }
  });
});
