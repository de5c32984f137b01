import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { typeAtCommandLine } from './command-line.ts';
import { NEW, type OperatorWorld, SERVICES, startOperatorWorld, WRONG } from './operator-world.ts';

const [INSIGHTS] = SERVICES;
const SecretId = 'token-broker/local/acme';

/** Commands that change something, each with one of its changes. */
const CHANGES: readonly (readonly [string, RegExp])[] = [
  [
    'disable acme',
    /- sets the flag of acme on customer-insights, merchant-\S+, in the table token-broker-local\n- denies/,
  ],
  [`disable acme --service ${INSIGHTS}`, /- sets the flag of acme on customer-insights, in the table/],
  ['enable acme', /- takes away the flag .*\n- lets the role token-broker-local read the secret \S+\/acme again/],
  ['promote acme --force', /- makes version \S+ of acme the current one, unchecked/],
  ['rollback acme', /- makes version \S+ of acme the current one, unchecked, in place of \S+/],
  ['retry acme', /- lets acme on customer-insights, merchant-payment-cleansing be sent again/],
  [`retry --service ${INSIGHTS}`, /- lets acme on customer-insights be sent again/],
  ['delete acme --recovery-days 7', /- marks the secret token-broker\/local\/acme for deletion.* 7 days/],
];

/** A client with a version of every stage. */
async function startWorld(): Promise<OperatorWorld> {
  const world = await startOperatorWorld();
  await world.run(['client', 'put', 'acme', '--force'], { input: WRONG });
  await world.run(['client', 'put', 'acme'], { input: { ...WRONG, client_id: 'marked-other' } });
  return world;
}

/** All that a command could change: the secret, and what the broker says of both pairs. */
async function stateOf(world: OperatorWorld): Promise<unknown> {
  const { $metadata, ...secret } = await world.secretsManager.send(new DescribeSecretCommand({ SecretId }));
  const { stdout } = await world.run(['client', 'check', 'acme', '--json']);
  const { checks } = JSON.parse(stdout);
  return { secret, findings: checks.map(({ service, finding }: Record<string, unknown>) => [service, finding]) };
}

describe('a command that changes something', () => {
  it('without a terminal and without --yes, or with --dry-run, says what it would do and where, and changes nothing', async () => {
    const world = await startWorld();
    const before = await stateOf(world);
    for (const [command, change] of CHANGES) {
      const args = ['client', ...command.split(' ')];
      const refused = await world.run(args, { input: 'y\n' });
      expect(refused, command).toMatchObject({ exitCode: 2, stdout: '' });
      expect(refused.stderr).toMatch(/^In the environment local \(account 111111111111, region us-east-1\) this\n- /);
      expect(refused.stderr).toMatch(change);
      expect(refused.stderr).toMatch(/no terminal to ask at, so nothing was changed: --yes/);

      const dry = await world.run([...args, '--dry-run', '--json']);
      expect(dry, command).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/\nNothing was changed/) });
      expect(JSON.parse(dry.stdout)).toMatchObject({ environment: 'local', account: '111111111111', dry_run: true });
    }
    expect(await stateOf(world)).toEqual(before);
  }, 120_000);

  it.each(
    ['disable acmee', `disable acmee --service ${INSIGHTS}`, 'enable acmee', 'promote acmee --force']
      .concat(['rollback acmee', 'retry acmee', 'delete acmee', 'show acmee'])
      .map((command) => ({ command })),
  )('refuses a client that is not there, and names its neighbour: $command', async ({ command }) => {
    const world = await startOperatorWorld();
    const args = ['client', ...command.split(' ')];
    for (const yes of command.startsWith('show') ? [[]] : [[], ['--yes']]) {
      const { exitCode, stdout, stderr } = await world.run([...args, ...yes]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(/error: secret-missing: There is no client "acmee" .*\nDid you mean acme\? /);
    }
  });

  it.each(['disable', 'enable', 'retry'])('refuses a service that is not there: %s', async (verb) => {
    const world = await startOperatorWorld();
    const args = ['client', verb, 'acme', '--service', 'customer-insight', '--yes'];
    expect(await world.run(args)).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(/has no service "customer-insight": it has customer-insights, merchant-/),
    });
  });
});

describe('at a terminal', () => {
  it('does it upon a yes', async () => {
    const world = await startOperatorWorld();
    const answered = await typeAtCommandLine(['client', 'disable', 'acme'], world.shell, [['Go on? [y/N] ', 'y\r']]);
    expect(answered).toMatchObject({ exitCode: 0, screen: expect.stringContaining('acme is disabled on') });
  });

  it.each([
    ['Enter', '\r', 1],
    ['another word', 'nyes\r', 1],
    ['Ctrl-C', '\u0003', 130],
  ])('does nothing upon %s', async (_, typed, exitCode) => {
    const world = await startOperatorWorld();
    const answered = await typeAtCommandLine(['client', 'disable', 'acme'], world.shell, [['Go on? [y/N] ', typed]]);
    expect(answered.exitCode).toBe(exitCode);
    expect(answered.screen).not.toContain('acme is disabled');
    expect(await world.run(['client', 'check', 'acme'])).toMatchObject({ exitCode: 0 });
  });

  it('makes a new client upon a yes, having named its neighbours, and nothing upon a no', async () => {
    const world = await startOperatorWorld();
    const put = ['client', 'put', 'amce'];
    const question = 'Make the new client "amce"? [y/N] ';
    const declined = await typeAtCommandLine(put, world.shell, [
      ['Did you mean acme?', ''],
      [question, 'n\r'],
    ]);
    expect(declined.exitCode).toBe(1);
    expect((await world.run(['client', 'list'])).stdout).not.toContain('amce');
    const made = await typeAtCommandLine(put, world.shell, [
      [question, 'yes\r'],
      ['client_id: ', `${NEW.client_id}\r`],
      ['secret: ', `${NEW.secret}\r`],
    ]);
    expect(made.screen).toMatch(/amce: version \S+ is AWSCURRENT/);
  });
});

const PUT = ['client', 'put', 'acme'];

describe('client put at a terminal', () => {
  it.each([
    ['typed', `${NEW.client_id}\r`, `${NEW.secret}\r`],
    ['corrected on the way', `typo\u0015${NEW.client_id}é\u007f\r`, `\u001b[A${NEW.secret}x\u007f\r`],
    ['pasted at once', `${NEW.client_id}\r\n${NEW.secret}\n`, ''],
  ])('asks for the credential and shows nothing of the secret when it is %s', async (_, id, secret) => {
    const world = await startOperatorWorld();
    const { exitCode, screen } = await typeAtCommandLine(PUT, world.shell, [
      ['client_id: ', id],
      ['secret: ', secret],
    ]);
    expect(screen).not.toContain(NEW.secret);
    expect(screen).toMatch(
      /The secret is not shown while you type it\..*client_id: .*acme-id-2.*secret: \n.*is AWSCURRENT/s,
    );
    expect(exitCode).toBe(0);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('ends with 130 on %s, and has stored nothing', async (_, key) => {
    const world = await startOperatorWorld();
    const { exitCode, screen } = await typeAtCommandLine(PUT, world.shell, [
      ['client_id: ', 'half an i'],
      ['', key === '\u0004' ? `\r${key}` : key],
    ]);
    expect(exitCode).toBe(130);
    expect(screen).not.toContain('Storing');
    expect((await world.run(['client', 'list'])).stdout).toMatch(/^acme +customer-insights .* [0-9a-f]{8} +- +\d+ s$/m);
  });

  it('says what is wrong with an empty answer', async () => {
    const world = await startOperatorWorld();
    const { exitCode, screen } = await typeAtCommandLine(PUT, world.shell, [
      ['client_id: ', '\r'],
      ['secret: ', '\r'],
    ]);
    expect(exitCode).toBe(1);
    expect(screen).toContain('credential-malformed: The credential cannot be used: client_id is empty');
  });
});

describe('client delete', () => {
  it('marks the secret for deletion, and says until when it can be restored and how', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'delete', 'acme', '--recovery-days', '7', '--yes']);
    const goneAt = new Date(Date.now() + 7 * 24 * 60 * 60_000).toISOString().slice(0, 10);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `acme is marked for deletion, gone on ${goneAt}\n` });
    expect(stderr).toMatch(/restore-secret --secret-id token-broker\/local\/acme\n$/);
    expect((await world.run(['client', 'list'])).stdout).toMatch(new RegExp(`acme .*deleted, gone on ${goneAt}`));
    expect(await world.run(['client', 'delete', 'acme', '--yes'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/secret-deleted/),
    });
  });
});
