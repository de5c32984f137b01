import { describe, expect, it as plain } from 'vitest';
import { startAws } from './shared/aws-operations.ts';
import { ended, runCommandLine, typeAtCommandLine, writeSettings } from './shared/command-line.ts';
import { it, SERVICES } from './shared/operator-world.ts';

const PAIR = { client: 'acme', service: SERVICES[0] };
const KEY = 'token-broker-keys/local/sealing';
const HOUR_MS = 3_600_000;

it('sealing-key rotate makes a new version current, keeps the one before, and shows no key', async ({ world }) => {
  const { AWSCURRENT: before } = await world.describe(KEY);
  const { exitCode, stdout, stderr } = await world.run('sealing-key rotate --yes --json');
  expect(exitCode).toBe(0);
  const { version, previous } = JSON.parse(stdout);
  expect(previous).toBe(before);
  expect(await world.describe(KEY)).toEqual({ AWSCURRENT: version, AWSPREVIOUS: previous });
  expect(stdout.replaceAll(/[0-9a-f-]{36}/g, '')).not.toMatch(/[\w-]{20}/);
  expect(stderr).toMatch(/within an hour.*sealing-key retire/);
});

describe('sealing-key retire', () => {
  it('waits until no token can live that the version before has sealed, if there is one', async ({ world }) => {
    expect(await world.run('sealing-key retire --yes')).toEqual(ended(1, '', /^error: version-missing: /));
    await world.run('sealing-key rotate --yes');
    const stages = await world.describe(KEY);
    const { stdout, stderr } = await world.run('sealing-key retire --yes --json');
    expect(JSON.parse(stdout)).toMatchObject({ type: 'too-early' });
    const [, at = ''] = /after (\S+Z);/.exec(stderr) ?? [];
    expect(Math.round((Date.parse(at) - Date.now()) / HOUR_MS)).toBe(25);
    expect(await world.describe(KEY)).toEqual(stages);
  });

  const EARLY = ended(1, '', /\nerror: too-early: /);
  const LATER = ended(0, /is retired\n$/, /Within an hour it opens no token/);
  plain.each([
    [24, 'by the default of a day', {}, EARLY],
    [26, 'by the default of a day', {}, LATER],
    [720, 'of one service', { maxLifetimeSeconds: 2_592_000 }, EARLY],
    [722, 'of one service', { maxLifetimeSeconds: 2_592_000 }, LATER],
  ])('after %i hours counts the longest life of a token, %s, and an hour', async (hours, _, lasting, end) => {
    const authUrl = 'https://auth.example.com';
    const services = { 'customer-insights': { authUrl }, other: { authUrl, ...lasting } };
    writeSettings({ dev: { account: '111111111111', region: 'eu-west-1', services, accessRules: [] } });
    const CreatedDate = (Date.now() - hours * HOUR_MS) / 1_000;
    const Versions = ['AWSCURRENT', 'AWSPREVIOUS'].map((stage) => {
      return { VersionId: stage.padEnd(32, '0'), VersionStages: [stage], CreatedDate };
    });
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: (await startAws(() => ({ Versions }))).url };
    const args = ['sealing-key', 'retire', '--yes', '--environment', 'dev'];
    expect(await runCommandLine(args, env)).toEqual(end);
  });

  it('asks first, and a second rotation says which version ends', async ({ world }) => {
    const stages = await world.describe(KEY);
    const refused = ended(2, '', /- makes a new version of token-broker-keys\/local\/sealing current.*--yes does it/s);
    expect(await world.run('sealing-key rotate')).toEqual(refused);
    expect(await world.run('sealing-key rotate --dry-run')).toEqual(ended(0, '', /Nothing was changed: --dry-run/));
    expect(await world.describe(KEY)).toEqual(stages);
    await world.run('sealing-key rotate --yes');
    const ends = new RegExp(`- retires version ${stages.AWSCURRENT} at once: tokens that it sealed are requested`);
    expect(await world.run('sealing-key rotate --dry-run')).toEqual(ended(0, '', ends));
    expect(await world.run('sealing-key retire --force --dry-run')).toEqual(ended(0, '', /- retires version/));
    expect(await world.describe(KEY)).toMatchObject({ AWSPREVIOUS: stages.AWSCURRENT });
    const rotate = ['sealing-key', 'rotate', '--region', 'us-east-1'];
    const meanwhile = async () => {
      await world.run('sealing-key rotate --yes');
      return 'y\n';
    };
    const { exitCode, screen } = await typeAtCommandLine(rotate, world.shell, [['[y/N] ', meanwhile]]);
    expect({ exitCode, screen }).toEqual({ exitCode: 1, screen: expect.stringMatching(/error: secret-changed: /) });
  });

  it('with --force closes the older tokens at once for instances that start afterwards', async ({ world }) => {
    const fingerprintOfNew = async () => (await (await world.newInstance()).token(PAIR)).fingerprint;
    const { fingerprint } = await world.caller.token(PAIR);
    await world.run('sealing-key rotate --yes');
    expect(await fingerprintOfNew()).toBe(fingerprint);
    expect(world.tokenService.requests).toHaveLength(1);

    const retired = ended(0, /^sealing key: version \S+ is retired\n$/, /./);
    expect(await world.run('sealing-key retire --yes --force')).toEqual(retired);
    expect(Object.keys(await world.describe(KEY))).toEqual(['AWSCURRENT']);
    expect(await fingerprintOfNew()).not.toBe(fingerprint);
    expect(world.tokenService.requests).toHaveLength(2);
  });
});
