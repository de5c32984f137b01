import { PassThrough } from 'node:stream';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { beginCommandLine, type Dialogue, ended, typeAtCommandLine } from '../shared/command-line.ts';
import { it, NEW, type OperatorWorld, SERVICES, WRONG } from '../shared/operator-world.ts';

const [INSIGHTS] = SERVICES;

/** Commands that change something, each with one of its changes. */
const CHANGES: readonly (readonly [string, RegExp])[] = [
  ['disable acme', /- sets the flag of acme on customer-insights, merchant-\S+, in the table token-\S+\n- denies/],
  [`disable acme --service ${INSIGHTS}`, /- sets the flag of acme on customer-insights, in the table/],
  ['enable acme', /- removes the flag .*\n- lets the role token-broker-local read the secret \S+\/acme again/],
  [`put acme --services ${INSIGHTS}`, /- stores another version of the secret \S+, checks it.*\n- removes the ser/],
  ['put new --create', /- makes the new client new on customer-insights, merchant-\S+: the secret token-\S+\/new/],
  ['promote acme --force', /- makes version \S+ of acme current, also untried, if/],
  ['rollback acme', /- makes version \S+ of acme current, unchecked, in place of \S+/],
  ['retry acme', /- lets acme on customer-insights, merchant-payment-cleansing be sent again/],
  [`retry --service ${INSIGHTS}`, /- lets acme on customer-insights be sent again/],
  ['discard acme', /- removes AWSPENDING from version \S+ of acme, which no command can restore/],
  ['discard acme --previous', /- removes AWSPREVIOUS from .*\n- leaves acme without a version to fall back to/],
  ['delete acme', /- marks the secret token-broker\/local\/acme for deletion.* 30 days/],
];

/** The state that a command could change: the secret, and both pairs as the broker reports them. */
async function stateOf({ secretsManager, json }: OperatorWorld) {
  const command = new DescribeSecretCommand({ SecretId: 'token-broker/local/acme' });
  const { $metadata, ...secret } = await secretsManager.send(command);
  const { checks } = await json('client check acme');
  return { secret, findings: checks.map(({ service, finding }: Record<string, unknown>) => [service, finding]) };
}

describe('a command that changes something', () => {
  it('only shows the plan and its place without --yes, or with --dry-run, which judges the credential of put', async ({
    world,
  }) => {
    // A version of every stage.
    await world.store(WRONG, 'AWSCURRENT');
    await world.store(WRONG);
    await world.eventsSettled();
    const before = await stateOf(world);
    const place = /^In the environment local \(account 111111111111, region us-east-1\) this command\n- /m;
    const refused = await world.run('client put acme', { input: '{"marked' });
    expect(refused).toEqual(ended(2, '', place));
    expect(refused.stderr).toMatch(/no terminal to ask at, so nothing was changed; --yes/);
    for (const [command, change] of CHANGES) {
      const dry = await world.run(`client ${command} --dry-run --json`, { input: NEW });
      expect(dry, command).toEqual(ended(0, /./, place));
      expect(dry.stderr).toMatch(change);
      expect(dry.stderr).toMatch(/\nNothing was changed/);
      expect(JSON.parse(dry.stdout)).toMatchObject({ environment: 'local', account: '111111111111', dry_run: true });
    }
    expect(await stateOf(world)).toEqual(before);
  });

  it('refuses a client that is not there, and names its neighbour', async ({ world }) => {
    const refusal = /error: secret-missing: There is no client "acmee" .*\nDid you mean acme\? /;
    const commands = `disable, disable --service ${INSIGHTS}, enable, promote --force, rollback, retry, discard, delete, restore`;
    for (const command of commands.split(', ')) {
      const args = `client ${command.replace(/^\w+/, '$& acmee')}`;
      expect(await world.run(args), args).toEqual(ended(1, '', refusal));
    }
    expect(await world.run('client show acmee')).toEqual(ended(1, '', refusal));
    const service = /has no service "customer-insight": it has customer-insights, merchant-/;
    for (const verb of ['disable', 'enable', 'retry']) {
      expect(await world.run(`client ${verb} acme --service customer-insight --yes`)).toEqual(ended(2, '', service));
    }
  });
});

describe('at a terminal', () => {
  const answers = (id: string, secret: string): Dialogue => [
    ['client_id: ', `${id}\r`],
    ['secret: ', `${secret}\r`],
  ];
  const put = (world: OperatorWorld, dialogue: Dialogue) => {
    world.letHalfAMinutePass();
    return typeAtCommandLine(['client', 'put', 'acme'], world.shell, dialogue);
  };
  const agreed: Dialogue = [['Continue? [y/N] ', 'y\r']];

  it.for([
    ['does it upon a yes', 'y\r', 0, /\n$/],
    ['does nothing upon another word', 'nyes\r', 1, /\nNothing was changed\.\n$/],
    ['does nothing upon Ctrl-C, and says so', '\u0003', 130, /\nInterrupted: nothing more was changed\.\n$/],
  ] as const)('%s', async ([_, typed, exitCode, last], { world: { shell, run } }) => {
    const answered = await typeAtCommandLine(['client', 'disable', 'acme'], shell, [['Continue? [y/N] ', typed]]);
    expect(answered).toMatchObject({ exitCode, screen: expect.stringMatching(last) });
    expect((await run('client check acme')).exitCode).toBe(exitCode === 0 ? 1 : 0);
  });

  it('asks for no promotion of a first version, which is in use already', async ({ world: { shell } }) => {
    const create = ['client', 'put', 'globex', '--create', '--force', '--yes'];
    const created = await typeAtCommandLine(create, shell, answers(WRONG.client_id, WRONG.secret));
    expect(created).toMatchObject({
      exitCode: 1,
      screen: expect.stringMatching(/globex: version \S+ is AWSCURRENT\n/),
    });
  });

  it.for(['disable acme', 'put acme'])(
    'ends at once on Ctrl-C before the question: client %s',
    async (command, { world }) => {
      const { secret } = await stateOf(world);
      const keyboard = Object.assign(new PassThrough(), { isTTY: true });
      const begun = beginCommandLine(['client', ...command.split(' ')], world.shell, keyboard);
      keyboard.on('shown', (screen: string) => {
        if (/The secret is not shown|\n- /.test(screen)) begun.interrupt();
      });
      expect(await begun.finished).toMatchObject({ exitCode: 130 });
      expect((await stateOf(world)).secret).toEqual(secret);
    },
  );

  it.for<readonly [string, Dialogue]>([
    ['corrected on the way', answers(`typo\u0015${NEW.client_id}é\u007f`, `\u001b[A${NEW.secret}x\u007f`)],
    ['pasted at once', [['client_id: ', `${NEW.client_id}\r\n${NEW.secret}\n`]]],
    ['the first of several lines', [['client_id: ', `${NEW.client_id}\n${NEW.secret}\nn\nmarked-rest\nmarked-end`]]],
  ])('asks for a credential and shows nothing of the secret when it is %s', async ([_, dialogue], { world }) => {
    const { exitCode, screen } = await put(world, [...dialogue, ...agreed]);
    expect(screen).not.toMatch(/marked-/);
    expect(screen).toMatch(/is not shown .*client_id: .*acme-id-2.*secret: \n.*changes the client_id.*is AWSCURRENT/s);
    expect(exitCode).toBe(0);
  });

  it.for(['\u0003', '\r\u0004'])('stores nothing on Ctrl-C and Ctrl-D', async (key, { world }) => {
    const { exitCode, screen } = await put(world, [['client_id: ', `half an i${key}`]]);
    expect({ exitCode, isStored: screen.includes('Storing') }).toEqual({ exitCode: 130, isStored: false });
  });
});

it('client delete says until when client restore can take the mark for deletion back', async ({ world }) => {
  const begun = Date.now();
  const { exitCode, stdout, stderr } = await world.run('client delete acme --yes');
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/Until then client restore acme undoes this\.\n$/);
  const [, goneAt = ''] = /^acme is marked, to be deleted on (\S+)\n$/.exec(stdout) ?? [];
  const daysLeft = (Date.parse(goneAt) - begun) / (24 * 60 * 60_000);
  expect(Math.abs(daysLeft - 30)).toBeLessThan(0.01);
  expect((await world.run('client list')).stdout).toMatch(new RegExp(`acme: to be deleted on ${goneAt}`));
  // A new client, whose name differs by case only, would be confused with it.
  for (const command of ['delete acme', 'put acme', 'put acme --create', 'put Acme --create']) {
    expect(await world.run(`client ${command} --yes`, { input: NEW }), command).toEqual(
      ended(1, '', /^error: secret-deleted: .*\nRestore it first, with client restore\.\n$/),
    );
  }
  const takes = /- removes the mark for deletion from the secret token-broker\/local\/acme/;
  expect(await world.run('client restore acme')).toEqual(ended(2, '', takes));
  expect(await world.run('client restore acme --yes')).toEqual(ended(0, 'acme has its secret\n', takes));
  expect(await world.run('client restore acme')).toEqual(ended(0, /./, /^acme is not marked for deletion\.\n/));
});

it('client discard throws away the version that waits, or the one before the current one', async ({ world }) => {
  await world.store(NEW, 'AWSCURRENT');
  await world.store(WRONG);
  for (const options of ['', ' --previous']) {
    const discarded = /^acme: version \S+ is discarded\n$/;
    expect(await world.run(`client discard acme${options} --yes`)).toEqual(ended(0, discarded, /./));
    expect(await world.run(`client discard acme${options} --yes`)).toEqual(ended(1, '', /version-missing/));
  }
  const { clients } = await world.json('client list');
  expect(clients).toMatchObject([{ versions: [{ stages: ['AWSCURRENT'] }] }]);
});

/** @see aws-samples/aws-secrets-manager-rotation-lambdas#168 */
it('takes a version that a rotation function left current and pending for current only', async ({ world }) => {
  await world.store(WRONG, 'AWSCURRENT', 'AWSPENDING');
  expect((await world.run('client show acme')).stdout).not.toContain('pending');
  expect(await world.json('client promote acme')).toMatchObject({ type: 'version-missing' });
  // The version that leaked is then the previous version, and still AWSPENDING.
  await world.run('client rollback acme --yes');
  const { stderr } = await world.run('client discard acme --previous --yes');
  expect(stderr).toMatch(/^- removes AWSPENDING and AWSPREVIOUS from version /m);
  expect(Object.keys(await world.describe())).toEqual(['AWSCURRENT', 'services']);
});
