import { describe, expect, it } from 'vitest';
import { ACME, CLEANSING, GLOBEX, INITECH, skipped, terminalOf, useBrowser } from './page-visitor.ts';

const HOOLI = { client: 'hooli', service: 'customer-insights' };

const { open } = useBrowser();

describe.skipIf(skipped !== '')(`the board in Chromium${skipped}`, () => {
  it('shows pairs as ok, not tried yet, rejected, disabled and deleted, and follows the command line in another terminal', async () => {
    const { page, broker, press, shows } = await open();
    const run = terminalOf(broker);
    await shows(ACME, 'not tried yet');
    await press(ACME);
    await shows(ACME, 'ok token: 59 min');
    await press(INITECH);
    await shows(INITECH, 'rejected');

    const credential = JSON.stringify({ client_id: 'hooli-id', secret: 'good-1' });
    await run('client put hooli --create --services customer-insights --yes', credential);
    await shows(HOOLI, 'no rule ok, token: .*');
    await shows({ ...CLEANSING, client: 'hooli' }, 'no rule -');
    await run('client disable acme --yes');
    await shows(ACME, String.raw`disabled in force within \d+ s, answers from memory until then`);
    await page
      .getByRole('status')
      .filter({ hasText: 'acme on customer-insights is now disabled' })
      .waitFor({ state: 'attached' });
    expect(await press(ACME)).toBe('issued');
    await shows(CLEANSING, 'disabled.*');
    await run('client enable acme --yes');
    await shows(ACME, 'not tried yet');
    await run('client delete hooli --yes');
    await shows(HOOLI, 'no rule deleted.*');
    await run('client retry initech --yes');
    await shows(INITECH, 'not tried yet');
    await run('service customer-insights --reject');
    const incidents = page.getByRole('group', { name: 'customer-insights' });
    await incidents.getByRole('radio', { name: 'rejects', checked: true }).waitFor();
  });

  it('plays an outage: pause and stale token show, then the finding of a check, then recovery', async () => {
    const { page, broker, press, shows, play, refuse } = await open();
    await press(ACME);
    await press(CLEANSING);
    // A token is not refused right after it was issued.
    broker.letTimePass(61_000);
    await play('customer-insights', 'down');
    await page.getByText('it closes every connection without an answer').waitFor();
    await play('merchant-payment-cleansing', 'throttles');
    await page.getByRole('columnheader', { name: 'throttles merchant-payment-cleansing' }).waitFor();
    expect(await refuse()).toBe('token-endpoint-unavailable');
    await shows(CLEANSING, String.raw`paused until [\d:]{8}, failed \d+ s ago: answer 429, token: 5[89] min`);
    expect(await press(CLEANSING)).toBe('issued');

    await page.getByRole('radio', { name: 'operator' }).check();
    await page.getByRole('radio', { name: 'a check' }).check();
    expect(await press(GLOBEX)).toBe('unreachable');
    // The pause ends by itself, and what the check found remains.
    await shows(GLOBEX, String.raw`failed \d+ s ago: no answer`);

    await play('customer-insights', 'works');
    await play('merchant-payment-cleansing', 'works');
    await shows(CLEANSING, 'ok .*');
    expect(await press(GLOBEX)).toBe('accepted');
    await shows(GLOBEX, 'ok token: .*');
  });

  it('runs the schedule, folds its checks, and shows the message to the operators with its commands', async () => {
    const { page, said } = await open();
    await page.getByRole('button', { name: 'Run the checks' }).click();
    await said('Every pair was checked.');
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
    const { page, broker, press, way } = await open();
    await press(ACME);
    expect(await way()).toEqual([
      ...['caller passed: signed', 'broker passed: allowed', 'table passed: read, written', 'lease passed: taken'],
      ...['secret passed: read', 'service answered: 200 answer'],
    ]);
    const service = page.getByRole('list', { name: 'The path of the call' }).getByRole('listitem').last();
    expect(await service.innerText()).toMatch(/\d+ ms$/);

    const other = await open({}, broker);
    await other.press(ACME);
    expect(await other.way()).toEqual([
      'caller passed: signed',
      'broker passed: allowed',
      'memory answered: contained the answer',
    ]);
    // An instance that has looked into the table within the last minute answers from its memory.
    const next = async () => {
      broker.letTimePass(61_000);
      await press(ACME);
      return way();
    };
    await expect
      .poll(next, { timeout: 20_000 })
      .toEqual(['caller passed: signed', 'broker passed: allowed', 'table answered: read']);
    await page.getByText(/^[2-8] of [3-9] tokens without a request to the service$/).waitFor();
  });

  it('shows the path of a refusal by rule, by service and by latch, and of a service that fails', async () => {
    const { page, press, way, play } = await open();
    const allowed = ['caller passed: signed', 'broker passed: allowed'];
    await page.getByRole('radio', { name: 'stranger' }).check();
    await press(ACME);
    expect(await way()).toEqual(['caller passed: signed', 'broker refused: access-denied']);
    await page.getByRole('radio', { name: 'billing' }).check();
    await press(INITECH);
    const asked = [...allowed, 'table passed: read, written', 'lease passed: taken', 'secret passed: read'];
    expect(await way()).toEqual([...asked, 'service refused: 401 answer']);
    await press(INITECH);
    expect((await way()).at(-1)).toMatch(/^(memory|table|secret) refused: /);
    await play('customer-insights', 'down');
    await press(ACME);
    expect((await way()).at(-1)).toBe('service failed: no answer');
  });
});
