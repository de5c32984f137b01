import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfig } from '../../../bin/local/config.ts';
import {
  ask,
  type LocalBrokerProcess,
  pageUrl,
  printedVariables,
  startLocalBroker,
} from '../../support/local-broker.ts';
import { runs } from '../../support/signers.ts';
import { runCommandLine } from '../commands/command-line.ts';
import { ACME, connected, PAIRS, press, pressAll, said, skipped, useBrowser } from './page-visitor.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };
const DENIED = 'access-denied';
const REJECTED = 'credential-rejected';
const ALL_DENIED = PAIRS.map(() => DENIED);

/** The callers' keys and the clients' credentials. */
const SECRETS = [
  ...exampleConfig(String).callers.map(({ secretAccessKey }) => secretAccessKey),
  ...Object.values(exampleConfig(String).credentials).flatMap((credential) => Object.values(credential)),
];

/** The living tokens of all pairs that have one. */
async function tokensOf(process: LocalBrokerProcess): Promise<readonly string[]> {
  const answers = await Promise.all(PAIRS.map((pair) => ask(process, BILLING, pair)));
  const tokens: readonly string[] = answers.flatMap(({ json }) => json.access_token ?? []);
  expect(tokens).toHaveLength(3);
  return tokens;
}

const { open, broker, browser } = useBrowser();

function answerOf(page: Page): Promise<string> {
  return page.locator('#answer').innerText();
}

describe.skipIf(skipped !== '')(`the page in Chromium${skipped}`, () => {
  it.each([
    ['billing', ['issued', 'issued', 'issued', REJECTED, REJECTED, REJECTED], ALL_DENIED],
    ['reporting', ['issued', DENIED, DENIED, DENIED, DENIED, DENIED], ALL_DENIED],
    [
      'operator',
      ['issued', 'issued', 'issued', REJECTED, REJECTED, REJECTED],
      ['accepted', 'accepted', 'accepted', 'rejected', 'rejected', 'rejected'],
    ],
    ['stranger', ALL_DENIED, ALL_DENIED],
  ])('asks as %s, whose keys and tokens it does not receive', async (caller, tokens, checks) => {
    const { page, received } = await open();
    await page.getByRole('radio', { name: caller }).check();
    expect(await pressAll(page)).toEqual(tokens);
    expect(await page.locator('#summary').innerText()).toMatch(`: ${caller} asked for initech on`);
    await page.getByRole('radio', { name: 'a check of the credential' }).check();
    expect(await pressAll(page)).toEqual(checks);

    const seen = (await received()) + (await page.content());
    expect(seen).toContain(`role/${caller}`);
    for (const hidden of [...SECRETS, ...(await tokensOf(broker()))]) expect(seen).not.toContain(hidden);
    expect(seen).not.toMatch(/Signature=[0-9a-f]/);
  });

  it('shows before a call what a rule covers, and after it the outcome, for each caller', async () => {
    const { page } = await open();
    const notes = () => page.locator('#pairs td small').allInnerTexts();
    const radio = (name: string) => page.getByRole('radio', { name });
    await radio('reporting').check();
    expect(await notes()).toEqual(['a rule allows it', ...Array.from({ length: 5 }, () => 'no rule allows it')]);

    await press(page, ACME);
    await radio('stranger').check();
    expect(await notes()).toEqual(Array.from({ length: 6 }, () => 'no rule allows it'));
    await radio('reporting').check();
    expect((await notes())[0]).toBe('issued');
  });

  it('shows what was sent, what came back, and the same with curl, to be copied', async () => {
    const { page } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await press(page, ACME);
    const { json } = await ask(broker(), BILLING, ACME);

    expect(await page.locator('#request').innerText()).toMatch(/^POST \S+\/token\n.*"client": "acme"/s);
    expect(await answerOf(page)).toContain(`"fingerprint": "${json.fingerprint}"`);
    const command = await page.locator('#curl').innerText();
    await page.getByRole('button', { name: 'Copy' }).click();
    await said(page, 'The command is copied.');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command);
    if (!runs('curl', '--aws-sigv4', 'aws:amz', '--version')) return;
    // The command signs as the caller by itself.
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env: { PATH: process.env.PATH } });
    expect(JSON.parse(stdout)).toMatchObject({ fingerprint: json.fingerprint });
  });

  it('neither shows nor receives a token until it is asked for', async () => {
    const { page, received } = await open();
    await pressAll(page);
    await press(page, ACME);
    const { json } = await ask(broker(), BILLING, ACME);
    const show = page.getByRole('button', { name: 'Show token' });
    expect(await received()).toContain(json.fingerprint);
    expect((await received()) + (await page.content())).not.toContain(json.access_token);

    await show.click();
    await page.getByText(json.access_token).waitFor();
    expect(await show.getAttribute('aria-pressed')).toBe('true');

    await show.click();
    expect(await page.content()).not.toContain(json.access_token);
    await show.click();
    await page.getByText(json.access_token).waitFor();
    await press(page, { client: 'initech', service: 'customer-insights' });
    expect(await page.content()).not.toContain(json.access_token);
    expect(await show.isVisible()).toBe(false);
  });

  it('gets the successor of a token that it reports as refused', async () => {
    const { page } = await open();
    const pair = { client: 'globex', service: 'customer-insights' };
    await page.getByRole('radio', { name: 'operator' }).check();
    await press(page, pair);
    const fingerprint = /"fingerprint": "(\w+)"/.exec(await answerOf(page))?.[1];
    await page.getByRole('button', { name: 'Report it as refused' }).click();
    await page
      .locator('#request')
      .filter({ hasText: `"refused": "${fingerprint}"` })
      .waitFor();

    expect(await answerOf(page)).toMatch(/^200 OK\n.*"fingerprint": "\w{16}"/s);
    expect(await answerOf(page)).not.toContain(fingerprint);
  });

  it('hands on how long a token should live', async () => {
    const { page } = await open();
    await page.getByRole('spinbutton', { name: 'that lives for more seconds' }).fill('-1');

    expect(await press(page, ACME)).toBe('invalid-request');
    expect(await answerOf(page)).toContain('min_ttl: must be 0 or more');
    await page.getByRole('radio', { name: 'a check of the credential' }).check();
    expect(await press(page, ACME)).toBe(DENIED);
  });

  it('asks for any other name, and shows it as the text that it is', async () => {
    const { page } = await open();
    const odd = '<img src=x onerror=alert(1)>';
    await page.getByRole('textbox', { name: 'Client' }).fill(odd);
    await page.getByRole('textbox', { name: 'Service' }).fill(odd);
    await page.getByRole('textbox', { name: 'Service' }).press('Enter');
    await page
      .getByRole('status')
      .filter({ hasText: `invalid-request: billing asked for ${odd} on ${odd}, 400` })
      .waitFor();

    expect(await page.locator('img').count()).toBe(0);
  });

  it('lists each request as it comes, those of others and those that AWS refuses too', async () => {
    const { page } = await open();
    const newest = page.locator('#requests tr').first();
    await ask(broker(), BILLING, { client: 'umbrella', service: 'customer-insights' });
    await newest.filter({ hasText: 'umbrella/customer-insights' }).waitFor();
    expect(await newest.innerText()).toMatch(
      /^access-denied\s+billing\s+umbrella\/customer-insights\s+\d+ ms\s+[\d:]{8}$/,
    );

    await ask(broker(), { ...BILLING, secretAccessKey: 'wrong' }, ACME);
    await newest.filter({ hasText: 'AWS answered 403' }).waitFor();
    await press(page, ACME);
    await press(page, ACME);
    await newest.filter({ hasText: 'from memory' }).waitFor();
  });

  it('shows who the chosen caller is, and beside a failure what to do about it', async () => {
    const { page } = await open();
    await page.getByRole('radio', { name: 'operator' }).check();
    await page.getByRole('button', { name: 'Who am I?' }).click();
    await said(page, 'identified: operator asked who it is, 200');
    expect(await answerOf(page)).toMatch(/"role": "arn:aws:iam::111111111111:role\/operator"/);

    await press(page, { client: 'initech', service: 'customer-insights' });
    await said(page, 'An operator stores the right credential in token-broker/local/initech (client put initech)');
    await press(page, ACME);
    expect(await page.locator('#summary').innerText()).toMatch(/^issued: .* ms$/);
  });

  it('shows a client that was added, and one that was stopped, and asks for it on', async () => {
    const own = await startLocalBroker();
    onTestFinished(async () => void (await own.end()));
    const { page } = await open({}, pageUrl(own));
    const keys = { AWS_ACCESS_KEY_ID: 'AKIDLOCALOPERATOR', AWS_SECRET_ACCESS_KEY: 'local-operator-secret' };
    const env = { ...printedVariables(own), AWS_SESSION_TOKEN: '', ...keys };
    const credential = JSON.stringify({ client_id: 'hooli-id', secret: 'good-1' });
    await press(page, ACME);
    await runCommandLine(['client', 'put', 'hooli', '--create', '--services', 'customer-insights'], env, credential);
    await page.getByRole('rowheader', { name: 'hooli' }).waitFor();
    await runCommandLine(['client', 'disable', 'acme', '--yes'], env);
    await page.getByRole('rowheader', { name: 'acme stopped' }).waitFor();

    await page.getByRole('radio', { name: 'operator' }).check();
    expect(await press(page, { client: 'hooli', service: 'customer-insights' })).toBe('issued');
  });

  it.each([
    ['a phone', { width: 390, height: 844 }],
    ['a wide screen', { width: 1280, height: 860 }],
  ])('has the answer in sight on %s when it came', async (_, viewport) => {
    const { page } = await open({ viewport });
    await press(page, ACME);

    expect(await page.evaluate(`document.getElementById('summary').getBoundingClientRect().top`)).toBeLessThan(200);
  });

  it('shows no more than the last thirty requests, those from before it was opened too', async () => {
    for (let count = 0; count < 30; count++) await ask(broker(), BILLING, { client: 'old', service: 'any' });
    await ask(broker(), BILLING, { client: 'old', service: 'last' });
    const { page } = await open();
    const rows = page.locator('#requests tr');
    await rows.filter({ hasText: 'old/last' }).waitFor();
    expect(await rows.count()).toBe(30);

    await press(page, ACME);
    await rows.first().filter({ hasText: 'acme/customer-insights' }).waitFor();
    expect(await rows.count()).toBe(30);
  });

  it('keeps the list still while it is paused, and then catches up', async () => {
    const { page } = await open();
    const pause = page.getByRole('checkbox', { name: 'Pause' });
    const newest = page.locator('#requests tr').first();
    await pause.check();
    await ask(broker(), BILLING, { client: 'paused', service: 'customer-insights' });
    await press(page, ACME);
    expect(await newest.innerText()).not.toMatch('paused/customer-insights');

    await pause.uncheck();
    await page.locator('#requests tr').filter({ hasText: 'paused/customer-insights' }).waitFor();
    await newest.filter({ hasText: 'acme/customer-insights' }).waitFor();
  });

  it('closes the stream while its tab is hidden', async () => {
    const { page } = await open();
    const look = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await look(true);
    await page.getByText('paused', { exact: true }).waitFor();
    await look(false);
    await connected(page);
  });

  it('comes back to a broker that was started again', async () => {
    const first = await startLocalBroker();
    const url = pageUrl(first);
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    await connected(page);
    await press(page, ACME);
    await first.end();
    await page.getByText('not running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Ask for acme on customer-insights' }).click();
    await said(page, 'No answer: is npm start still running?');

    const config = { ...exampleConfig(() => 'http://127.0.0.1:9'), credentials: { other: {} } };
    const second = await startLocalBroker({ config, env: { PAGE_PORT: new URL(url).port } });
    onTestFinished(async () => void (await second.end()));
    await connected(page);
    await page.getByRole('rowheader', { name: 'other' }).waitFor();
    expect(await page.locator('#requests tr').count()).toBe(0);
    expect(await page.locator('#pairs td small').allInnerTexts()).not.toContain('issued');
  });
});
