import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  ACME,
  answered,
  CLEANSING,
  GLOBEX,
  INITECH,
  play,
  press,
  said,
  shows,
  skipped,
  terminalOf,
  useBrowser,
  way,
} from './page-visitor.ts';

const HOOLI = { client: 'hooli', service: 'customer-insights' };

const { open } = useBrowser();

const refuse = (page: Page) => answered(page, page.getByRole('button', { name: 'Report it as refused' }));

describe.skipIf(skipped !== '')(`the board in Chromium${skipped}`, () => {
  it('shows pairs as ok, not tried yet, rejected, disabled and deleted, and follows the command line in another terminal', async () => {
    const { page, broker } = await open();
    const run = terminalOf(broker);
    await shows(page, ACME, 'not tried yet');
    await press(page, ACME);
    await shows(page, ACME, 'ok token: 59 min');
    await press(page, INITECH);
    await shows(page, INITECH, 'rejected');

    const credential = JSON.stringify({ client_id: 'hooli-id', secret: 'good-1' });
    await run('client put hooli --create --services customer-insights --yes', credential);
    await shows(page, HOOLI, 'no rule ok, token: .*');
    await shows(page, { ...CLEANSING, client: 'hooli' }, 'no rule -');
    await run('client disable acme --yes');
    await shows(page, ACME, String.raw`disabled in force within \d+ s, answers from memory until then`);
    await page
      .getByRole('status')
      .filter({ hasText: 'acme on customer-insights is now disabled' })
      .waitFor({ state: 'attached' });
    expect(await press(page, ACME)).toBe('issued');
    await shows(page, CLEANSING, 'disabled.*');
    await run('client enable acme --yes');
    await shows(page, ACME, 'not tried yet');
    await run('client delete hooli --yes');
    await shows(page, HOOLI, 'no rule deleted.*');
    await run('client retry initech --yes');
    await shows(page, INITECH, 'not tried yet');
    await run('service customer-insights --reject');
    const incidents = page.getByRole('group', { name: 'customer-insights' });
    await incidents.getByRole('radio', { name: 'rejects', checked: true }).waitFor();
  });

  it('plays an outage: pause and stale token show, then the finding of a check, then recovery', async () => {
    const { page, broker } = await open();
    await press(page, ACME);
    await press(page, CLEANSING);
    // A token is not refused right after it was issued.
    broker.letTimePass(61_000);
    await play(page, 'customer-insights', 'down');
    await page.getByText('it closes every connection without an answer').waitFor();
    await play(page, 'merchant-payment-cleansing', 'throttles');
    await page.getByRole('columnheader', { name: 'throttles merchant-payment-cleansing' }).waitFor();
    expect(await refuse(page)).toBe('token-endpoint-unavailable');
    await shows(page, CLEANSING, String.raw`paused until [\d:]{8}, failed \d+ s ago: answer 429, token: 5[89] min`);
    expect(await press(page, CLEANSING)).toBe('issued');

    await page.getByRole('radio', { name: 'operator' }).check();
    await page.getByRole('radio', { name: 'a check' }).check();
    expect(await press(page, GLOBEX)).toBe('unreachable');
    // The pause ends by itself, and what the check found remains.
    await shows(page, GLOBEX, String.raw`failed \d+ s ago: no answer`);

    await play(page, 'customer-insights', 'works');
    await play(page, 'merchant-payment-cleansing', 'works');
    await shows(page, CLEANSING, 'ok .*');
    expect(await press(page, GLOBEX)).toBe('accepted');
    await shows(page, GLOBEX, 'ok token: .*');
  });

  it('runs the schedule, folds its checks, and shows the message to the operators with its commands', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: 'Run the checks' }).click();
    await said(page, 'Every pair was checked.');
    const messages = page.getByRole('region', { name: 'Messages to the operators' });
    await messages.getByRole('heading', { name: 'rejected: initech on customer-insights' }).click();
    await messages
      .getByRole('button', { name: 'Copy client retry initech' })
      .filter({ visible: true })
      .first()
      .waitFor();

    const happened = page.getByRole('region', { name: 'Recent requests' });
    const [run, ...others] = await happened.locator('details').all();
    expect(others).toEqual([]);
    const counted = / schedule: 11 accepted, 3 rejected, probe: 1 access-denied$/;
    await expect.poll(() => run?.innerText(), { timeout: 20_000 }).toMatch(counted);
    await run?.locator('summary').click();
    const check = happened.locator('details details').filter({ hasText: 'acme/customer-insights' }).first();
    await check.locator('summary').click();
    await check.locator('pre').filter({ hasText: '"requestId"' }).waitFor();
  });

  it('shows the path of a token from the service, from memory and from the table, and counts what that saved', async () => {
    const { page, broker } = await open();
    await press(page, ACME);
    expect(await way(page)).toEqual([
      ...['caller passed: signed', 'broker passed: allowed', 'table passed: read, written', 'lease passed: taken'],
      ...['secret passed: read', 'service answered: 200 answer'],
    ]);
    const service = page.getByRole('list', { name: 'The path of the call' }).getByRole('listitem').last();
    expect(await service.innerText()).toMatch(/\d+ ms$/);

    const { page: other } = await open({}, broker);
    await press(other, ACME);
    expect(await way(other)).toEqual([
      'caller passed: signed',
      'broker passed: allowed',
      'memory answered: contained the answer',
    ]);
    // An instance that has looked into the table within the last minute answers from its memory.
    const next = async () => {
      broker.letTimePass(61_000);
      await press(page, ACME);
      return way(page);
    };
    await expect
      .poll(next, { timeout: 20_000 })
      .toEqual(['caller passed: signed', 'broker passed: allowed', 'table answered: read']);
    await page.getByText(/^[2-8] of [3-9] tokens without a request to the service$/).waitFor();
  });

  it('shows the path of a refusal by rule, by service and by latch, and of a service that fails', async () => {
    const { page } = await open();
    const allowed = ['caller passed: signed', 'broker passed: allowed'];
    await page.getByRole('radio', { name: 'stranger' }).check();
    await press(page, ACME);
    expect(await way(page)).toEqual(['caller passed: signed', 'broker refused: access-denied']);
    await page.getByRole('radio', { name: 'billing' }).check();
    await press(page, INITECH);
    const asked = [...allowed, 'table passed: read, written', 'lease passed: taken', 'secret passed: read'];
    expect(await way(page)).toEqual([...asked, 'service refused: 401 answer']);
    await press(page, INITECH);
    expect((await way(page)).at(-1)).toMatch(/^(memory|table|secret) refused: /);
    await play(page, 'customer-insights', 'down');
    await press(page, ACME);
    expect((await way(page)).at(-1)).toBe('service failed: no answer');
  });
});
