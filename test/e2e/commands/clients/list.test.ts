import { describe, expect, onTestFinished } from 'vitest';
import { readPairState } from '../../../../functions/aws/pair-table/pair-state.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { exampleToken } from '../../../support/pair/pair-examples.ts';
import { startSecretsManager } from '../../../support/processes/stand-ins.ts';
import { ended, runCommandLine, SHELL_KEY } from '../shared/command-line.ts';
import { it, NEW, OLD, SERVICES } from '../shared/operator-world.ts';

const DAY_MS = 24 * 60 * 60_000;
const [INSIGHTS, CLEANSING] = SERVICES;

/** An environment `dev` whose secrets have versions of any age, and whose table is not in reach. */
async function start() {
  let ageDays = 0;
  const standIn = await startSecretsManager({ keys: [SHELL_KEY], now: () => Date.now() - ageDays * DAY_MS - 1 });
  onTestFinished(standIn.close);
  const run = async (...args: readonly string[]) => {
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: standIn.url, AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
    const result = await runCommandLine(['client', 'list', '--environment', 'dev', ...args], env);
    expect(result.stdout + result.stderr).not.toMatch(/marked-|garbage/);
    return result;
  };
  /** Stores versions of a secret, each so many days old, with its stages. */
  const store = (name: string, versions: readonly Version[] = [[12, 'AWSCURRENT']], tag?: string) => {
    const value = { SecretString: JSON.stringify({ client_id: 'marked-id', secret: 'marked-secret' }) };
    const Tags = tag === undefined ? [] : [{ Key: 'services', Value: tag }];
    const secret = standIn.store.create(`token-broker/${name}`, { Tags });
    for (const [age, ...stages] of versions) {
      ageDays = age;
      secret.versions.add(`${name.replaceAll(/\W/g, '-')}-${age}`.padEnd(32, '0'), value, stages);
    }
    ageDays = 0;
    return secret;
  };
  return { ...standIn, store, run, json: async () => JSON.parse((await run('--json')).stdout) };
}

type Version = readonly [ageDays: number, ...stages: string[]];

describe('client list', () => {
  it('shows services and versions, and names those that are old or have no list of services', async () => {
    const { store, run } = await start();
    store('dev/globex', [[3, 'AWSCURRENT']], SERVICES.join(' '));
    store('dev/acme', [
      [400, 'AWSPREVIOUS'],
      [12, 'AWSCURRENT'],
      [0, 'AWSPENDING'],
    ]);
    store('dev/hooli', [[366, 'AWSCURRENT']], INSIGHTS);
    store('dev/initech').deletion = { goneAt: Date.UTC(2099, 0, 31) };
    const { exitCode, stdout, stderr } = await run();
    expect(exitCode).toBe(0);
    const old =
      /^(?:AWS_\S+ is set: this is not the "dev" in AWS\.\n){2}The states .* cannot be read: .*\nAWS may list .* five minutes ago; client show .*\nacme, initech: without the tag "services" .*\nhooli: .* older than 365 days .*\n$/;
    expect(stderr).toMatch(old);
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^CLIENT +SERVICE +STATE +PROVEN AT +TOKEN UNTIL +CURRENT +PENDING +STORED AT$/),
      expect.stringMatching(/^acme +all +- +- +- +dev-acme +dev-acme +\S+Z$/),
      expect.stringMatching(/^globex +customer-insights merchant-payment-cleansing +- +- +- +dev-glob +- +\S+Z$/),
      expect.stringMatching(/^hooli +customer-insights +- +- +- +dev-hool +- +\S+Z \(old\)$/),
      expect.stringMatching(/^initech .* deleted on 2099-01-31T00:00:00Z /),
      '',
    ]);
  });

  it('answers --json with whole version ids and times', async () => {
    const { store, json } = await start();
    store('dev/acme', [[12, 'AWSCURRENT']], INSIGHTS);
    const stored_at = expect.stringMatching(/Z$/);
    const versions = [{ version: 'dev-acme-12'.padEnd(32, '0'), stages: ['AWSCURRENT'], stored_at }];
    expect(await json()).toEqual({ environment: 'dev', clients: [{ client: 'acme', services: [INSIGHTS], versions }] });
  });

  it('reads every page, and shows clients of this environment only', async () => {
    const { store, run, json, operations, failWith } = await start();
    for (let client = 0; client < 101; client += 1) store(`dev/c${client}`);
    for (const name of ['dev/acme/old', 'dev/-x', 'dev-2/acme', 'prod/acme']) store(name);
    expect((await json()).clients).toHaveLength(101);
    expect(operations.filter((call) => call === 'ListSecrets')).toHaveLength(2);
    failWith('access-denied');
    const refused = /\nerror: aws-access-denied: .*ListSecrets in eu-west-1 \(AccessDeniedException\)\n/;
    expect(await run('--json')).toEqual(ended(1, /"detail"/, refused));
  });
});

describe('client list with the table', () => {
  it('shows the state of each pair at once: proven, rejected, paused, held, disabled, enabled', async ({ world }) => {
    const list = async (options = '') => (await world.run(`client list${options}`)).stdout;
    expect(await list()).toMatch(/^acme +customer-insights +unproven +- +- +[0-9a-f]{8} +- +\S+Z$/m);

    world.tokenService.respondWith(INSIGHTS, { status: 401 });
    world.tokenService.respondWith(CLEANSING, { status: 503, headers: { 'retry-after': '300' } });
    await world.run('client check acme');
    const failed = await list();
    expect(failed).toMatch(/^acme +customer-insights +rejected since \S+Z +- +- /m);
    expect(failed).toMatch(/^acme +merchant-payment-cleansing +paused until \S+Z +- +- /m);

    world.tokenService.respondWith(CLEANSING, { status: 404 });
    await world.run('client retry acme --yes');
    await world.run('client check acme');
    expect(await list()).toMatch(/^acme +merchant-payment-cleansing +held until \S+Z +- +- /m);

    for (const service of SERVICES) world.tokenService.respondWith(service, undefined);
    await world.run('client retry acme --yes');
    await world.run('client check acme');
    expect(await list()).toMatch(/^acme +customer-insights +ok +\S+Z +\S+Z +[0-9a-f]{8} +- +\S+Z$/m);

    await world.run(`client disable acme --service ${INSIGHTS} --yes`);
    const time = expect.stringMatching(/Z$/);
    const pairs = [
      { service: INSIGHTS, state: 'disabled', since: time },
      { service: CLEANSING, state: 'ok', proven_at: time, token_expires_at: time },
    ];
    expect((await world.json('client list')).clients).toMatchObject([{ client: 'acme', pairs }]);
    await world.run(`client enable acme --service ${INSIGHTS} --yes`);
    expect(await list(` --service ${INSIGHTS}`)).toMatch(/^CLIENT .*\nacme +customer-insights +unproven .*\n$/);
  });

  it.for([80, 200])(
    'fits into %i columns of a terminal, with short times and whole words',
    async (columns, { world }) => {
      await world.addClient('umbrella', INSIGHTS, OLD);
      await world.run('client put acme --yes --expires 2099-03-01', { input: NEW });
      const { stdout } = await world.run('client list', { env: { COLUMNS: `${columns}` } });
      const lines = stdout.trimEnd().split('\n');
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
      expect(stdout).toMatch(/ \d\d:\d\dZ/);
      const services = columns === 200 ? SERVICES : ['customer-', 'insights', 'merchant-', 'payment-', 'cleansing'];
      for (const part of services) expect(stdout.split(/\s+/)).toContain(part);
      expect((await world.run('client list')).stdout).toMatch(/merchant-payment-cleansing +ok +\d{4}-\d\d-\d\dT/);
    },
  );

  it('calls a version that no service has accepted yet unproven, while the token of the one before lives', async () => {
    const now = Date.UTC(2026, 0, 1);
    const [issuedAt, expiresAt] = [now - 60_000, now + 60_000];
    const { accessToken: _, ...visible } = exampleToken({ issuedAt, expiresAt });
    const record = { ...EMPTY_RECORD, token: { ...visible, closed: 'no-key' as const } };
    const pair = { client: 'acme', service: INSIGHTS };
    const ok = { ...pair, state: 'ok', provenAt: issuedAt };
    const stateOf = (read: PairRecord, version: string, at: number) =>
      readPairState({ read: async () => read }, pair, version, at);
    expect(await stateOf(record, 'v2', now)).toEqual({ ...pair, state: 'unproven', tokenExpiresAt: expiresAt });
    expect(await stateOf(record, 'v1', now)).toEqual({ ...ok, tokenExpiresAt: expiresAt });
    expect(await stateOf(record, 'v1', expiresAt)).toEqual(ok);
    // No right clock has written it.
    const ahead = { ...record, token: { ...record.token, issuedAt: now + 60_001 } };
    expect(await stateOf(ahead, 'v1', now)).toEqual({ ...pair, state: 'unproven' });
  });
});

it('client show shows one client, with every version of its credential', async ({ world }) => {
  await world.run('client put acme --yes --services all', { input: NEW });
  const pairs = /^CLIENT .*\nacme +customer-insights +ok .*\nacme +merchant-payment-cleansing +ok .*\n\n/.source;
  const versions = /STAGE .*\nAWSCURRENT +\S{36} +\S+Z +-\nAWSPREVIOUS +\S{36} +\S+Z +-\n$/.source;
  expect(await world.run('client show acme')).toEqual(ended(0, new RegExp(pairs + versions)));
  const shown = { client: 'acme', services: 'all', pairs: [{ state: 'ok' }, { state: 'ok' }] };
  expect(await world.json('client show acme')).toMatchObject({ environment: 'local', ...shown });
});
