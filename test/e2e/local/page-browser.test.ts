import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfig } from '../../../bin/local/config.ts';
import { ask, freePorts, pageUrl, printedVariables, startLocalBroker } from '../../support/processes/local-broker.ts';
import { runCommandLine } from '../commands/command-line.ts';
import { ACME, connected, INITECH, PAIRS, press, said, skipped, useBrowser } from './page-visitor.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };

/** The callers' keys and the clients' credentials. */
const SECRETS = [
  ...exampleConfig(String).callers.map(({ secretAccessKey }) => secretAccessKey),
  ...Object.values(exampleConfig(String).credentials).flatMap((credential) => Object.values(credential)),
];

const { open, broker, browser } = useBrowser();

/** What a request comes to, page-calls.test.ts and page-state.test.ts show. */
describe.skipIf(skipped !== '')(`the page in Chromium${skipped}`, () => {
  it('asks as the chosen caller, shows what a rule allows and what it came to, and receives no key and no token', async () => {
    const { page, received } = await open();
    const notes = () => page.locator('#pairs td small').allInnerTexts();
    await page.getByRole('radio', { name: 'reporting' }).check();
    expect(await notes()).toEqual(['a rule allows it', ...Array(5).fill('no rule allows it')]);
    expect(await press(page, INITECH)).toBe('access-denied');
    await page.getByRole('radio', { name: 'billing' }).check();
    expect(await notes()).toEqual(Array(6).fill('a rule allows it'));
    for (const pair of PAIRS) await press(page, pair);
    expect(await notes()).toEqual([...Array(3).fill('issued'), ...Array(3).fill('credential-rejected')]);
    await page.getByRole('radio', { name: 'operator' }).check();
    await page.getByRole('radio', { name: 'a check of the credential' }).check();
    expect(await press(page, ACME)).toBe('accepted');
    expect(await press(page, INITECH)).toBe('rejected');
    await page.getByRole('button', { name: 'Who am I?' }).click();
    await said(page, 'identified: operator asked who it is, 200');

    const tokens = PAIRS.slice(0, 3).map(async (pair) => (await ask(broker(), BILLING, pair)).json.access_token);
    const seen = (await received()) + (await page.content());
    expect(seen).toContain('role/operator');
    for (const hidden of [...SECRETS, ...(await Promise.all(tokens))]) expect(seen).not.toContain(hidden);
    expect(seen).not.toMatch(/Signature=[0-9a-f]/);
  });

  it('shows what was sent, what came back with advice, and the same with curl, to be copied', async () => {
    const { page } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await press(page, INITECH);
    await said(page, 'An operator stores the right credential in token-broker/local/initech (client put initech)');
    expect(await page.locator('#request').innerText()).toMatch(/^POST \S+\/token\n.*"client": "initech"/s);
    expect(await page.locator('#answer').innerText()).toMatch(/^424 .*"type": "credential-rejected"/s);
    const command = await page.locator('#curl').innerText();
    await page.getByRole('button', { name: 'Copy' }).click();
    await said(page, 'The command is copied.');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command);
  });

  it('shows a token only while it is told to', async () => {
    const { page } = await open();
    await press(page, ACME);
    const { json } = await ask(broker(), BILLING, ACME);
    const show = page.getByRole('button', { name: 'Show token' });
    await show.click();
    await page.getByText(json.access_token).waitFor();
    expect(await show.getAttribute('aria-pressed')).toBe('true');

    await show.click();
    await page.getByRole('button', { name: 'Show token', pressed: false }).waitFor();
    expect(await page.content()).not.toContain(json.access_token);
    await press(page, INITECH);
    expect(await show.isVisible()).toBe(false);
  });

  it('keeps the answer to the last question in sight when that of an earlier one comes late', async () => {
    const { page } = await open();
    const last = Promise.withResolvers<void>();
    await page.route('**/call', async (route) => {
      if (route.request().postData()?.includes('acme')) await last.promise;
      await route.continue();
    });
    const earlier = page.getByRole('button', { name: 'Ask for acme on customer-insights' });
    await earlier.click();
    await press(page, INITECH);
    last.resolve();
    await earlier.locator('xpath=following-sibling::*').filter({ hasText: 'issued' }).waitFor();
    expect(await page.locator('#answer').innerText()).toMatch(/^424 /);
  });

  it('gets the successor of a token that it reports as refused', async () => {
    const { page } = await open();
    const answer = () => page.locator('#answer').innerText();
    await press(page, { ...ACME, client: 'globex' });
    const fingerprint = /"fingerprint": "(\w+)"/.exec(await answer())?.[1];
    await page.getByRole('button', { name: 'Report it as refused' }).click();
    const request = page.locator('#request').filter({ hasText: `"refused": "${fingerprint}"` });
    await request.waitFor();

    expect(await answer()).toMatch(/^200 OK\n.*"fingerprint": "\w{16}"/s);
    expect(await answer()).not.toContain(fingerprint);
  });

  it('hands on how long a token should live, and any other name, which it shows as the text that it is', async () => {
    const { page } = await open();
    const odd = '<img src=x onerror=alert(1)>';
    await page.getByRole('spinbutton', { name: 'that lives for more seconds' }).fill('-1');
    expect(await press(page, ACME)).toBe('invalid-request');
    expect(await page.locator('#answer').innerText()).toContain('min_ttl: must be 0 or more');
    await page.getByRole('textbox', { name: 'Client' }).fill(odd);
    await page.getByRole('textbox', { name: 'Service' }).fill(odd);
    await page.getByRole('textbox', { name: 'Service' }).press('Enter');
    await said(page, `invalid-request: billing asked for ${odd} on ${odd}, 400`);
    expect(await page.locator('img').count()).toBe(0);
  });

  it('lists each request as it comes, those of others and those that AWS refuses too', async () => {
    const { page } = await open();
    const newest = page.locator('#requests tr').first();
    await ask(broker(), BILLING, { ...ACME, client: 'umbrella' });
    await newest.filter({ hasText: 'umbrella/customer-insights' }).waitFor();
    expect(await newest.innerText()).toMatch(
      /^access-denied\s+billing\s+umbrella\/customer-insights\s+\d+ ms\s+[\d:]{8}$/,
    );
    await ask(broker(), { ...BILLING, secretAccessKey: 'wrong' }, ACME);
    await newest.filter({ hasText: 'AWS answered 403' }).waitFor();
  });

  it('shows a client that was added, and one that was stopped, and comes back to a broker that was started again', async () => {
    const env = { PORT: `${await freePorts(9)}` };
    const first = await startLocalBroker({ env });
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(pageUrl(first));
    await connected(page);
    await page.getByRole('radio', { name: 'operator' }).check();
    const keys = { AWS_ACCESS_KEY_ID: 'AKIDLOCALOPERATOR', AWS_SECRET_ACCESS_KEY: 'local-operator-secret' };
    const shell = { ...printedVariables(first), AWS_SESSION_TOKEN: '', ...keys };
    const credential = JSON.stringify({ client_id: 'hooli-id', secret: 'good-1' });
    await runCommandLine(['client', 'put', 'hooli', '--create', '--services', 'customer-insights'], shell, credential);
    await page.getByRole('rowheader', { name: 'hooli' }).waitFor();
    await runCommandLine(['client', 'disable', 'acme', '--yes'], shell);
    await page.getByRole('rowheader', { name: 'acme stopped' }).waitFor();
    // The caller that was chosen before is still the one who asks: no other rule allows it.
    expect(await press(page, { ...ACME, client: 'hooli' })).toBe('issued');

    await first.end();
    await page.getByText('not running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Ask for hooli on customer-insights' }).click();
    await said(page, 'No answer: is npm start still running?');
    const second = await startLocalBroker({ env });
    onTestFinished(async () => void (await second.end()));
    await connected(page);
    await page.getByRole('rowheader', { name: 'hooli' }).waitFor({ state: 'detached' });
    expect(await page.locator('#requests tr').count()).toBe(0);
  });
});
