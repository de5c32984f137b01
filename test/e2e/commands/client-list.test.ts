import { describe, expect, onTestFinished } from 'vitest';
import { stateOf } from '../../../bin/commands/client/list.ts';
import { sealAttributes } from '../../../functions/aws/pair-table/item.ts';
import { startSecretsManager } from '../../support/stand-ins.ts';
import { beginCommandLine, ended, runCommandLine, SHELL_KEY, withoutProgress } from './command-line.ts';
import { it, NEW, SERVICES } from './operator-world.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Said because the environment of these tests is not `local`. */
const STAND_IN = 'AWS_ENDPOINT_URL_SECRETS_MANAGER is set: this is not the "dev" in AWS.\n';

async function start() {
  let ageDays = 0;
  const standIn = await startSecretsManager({ keys: [SHELL_KEY], now: () => Date.now() - ageDays * DAY_MS - 1 });
  onTestFinished(standIn.close);
  const run = async (...args: readonly string[]) => {
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: standIn.url, AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
    const result = await runCommandLine(['client', 'list', '--environment', 'dev', ...args], env);
    expect(result.stdout + result.stderr).not.toMatch(/marked-|garbage/);
    return { ...result, stderr: withoutProgress(result.stderr) };
  };
  return {
    ...standIn,
    /** Stores versions of a secret, each so many days old, with its stages. */
    store(
      name: string,
      versions: readonly (readonly [ageDays: number, ...stages: string[]])[] = [[12, 'AWSCURRENT']],
      services?: string,
      named = services,
    ) {
      const entries = named && { services: Object.fromEntries(named.split(' ').map((service) => [service, {}])) };
      const value = { SecretString: JSON.stringify({ client_id: 'marked-id', secret: 'marked-secret', ...entries }) };
      const Tags = services === undefined ? [] : [{ Key: 'services', Value: services }];
      const path = `token-broker/${name}`;
      const secret = standIn.store.find(path) ?? standIn.store.create(path, { Tags });
      for (const [age, ...stages] of versions) {
        ageDays = age;
        secret.versions.add(`${name.replaceAll(/\W/g, '-')}-${age}`.padEnd(32, '0'), value, stages);
      }
      ageDays = 0;
      return secret;
    },
    run,
    json: async () => JSON.parse((await run('--json')).stdout),
  };
}

describe('client list', () => {
  it('shows services, versions and the age of the current one, and which is old', async () => {
    const { store, run } = await start();
    store('dev/globex', [[3, 'AWSCURRENT']], 'customer-insights merchant-payment-cleansing');
    store('dev/acme', [
      [400, 'AWSCURRENT'],
      [12, 'AWSCURRENT'],
      [0, 'AWSPENDING'],
    ]);
    store('dev/hooli', [[366, 'AWSCURRENT']], 'customer-insights');
    const { exitCode, stdout, stderr } = await run();
    expect(exitCode).toBe(0);
    const old = 'hooli: the credential is older than 365 days .*\n';
    expect(stderr).toMatch(new RegExp(`^${STAND_IN}The states of the pairs cannot be read: .*\n${old}$`));
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^CLIENT +SERVICE +STATE +PROVEN +TOKEN +CURRENT +PENDING +AGE$/),
      expect.stringMatching(/^acme +all +- +- +- +dev-acme +dev-acme +12 d$/),
      expect.stringMatching(/^globex +customer-insights merchant-payment-cleansing +- +- +- +dev-glob +- +3 d$/),
      expect.stringMatching(/^hooli +customer-insights +- +- +- +dev-hool +- +366 d \(old\)$/),
      '',
    ]);
  });

  it('answers --json with whole version ids and times', async () => {
    const { store, json } = await start();
    store('dev/acme', [[12, 'AWSCURRENT']], 'customer-insights');
    const version = 'dev-acme-12'.padEnd(32, '0');
    const versions = [{ version, stages: ['AWSCURRENT'], stored_at: expect.stringMatching(/Z$/) }];
    const acme = { client: 'acme', services: ['customer-insights'], tag_repeated: true, versions };
    expect(await json()).toEqual({ environment: 'dev', clients: [acme] });
  });

  it.for(['', 'customer-insights merchant-payment-cleansing'])(
    'tells when a tag is not repeated by the secret, which names "%s"',
    async (named) => {
      const { store, run } = await start();
      store('dev/acme', undefined, 'customer-insights', named);
      store('dev/globex', undefined, 'customer-insights');
      store('dev/hooli');
      const { exitCode, stdout, stderr } = await run('--json');
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ clients: [{ tag_repeated: false }, { tag_repeated: true }, {}] });
      expect(stderr).toMatch(/^acme: the secret does not name the services of its tag; client put stores both/m);
      expect(stdout).not.toMatch(/"hooli"[^}]*tag_repeated/);
    },
  );

  it('says that it is unknown where the secret may not be read', async ({ world }) => {
    await world.run('client put acme --services customer-insights', { input: NEW });
    const unknown = 'acme: whether the secret names the services of its tag is unknown.\n';
    expect(await world.run('client list', { env: world.stranger })).toEqual(ended(0, /^acme /m, unknown));
  });

  it('shows clients of this environment only, and nothing else below its name', async () => {
    const { store, json } = await start();
    for (const name of ['dev/acme', 'dev/acme/old', 'dev/-x', 'dev-2/acme', 'prod/acme']) store(name);
    expect((await json()).clients).toMatchObject([{ client: 'acme' }]);
  });

  it('reads every page', async () => {
    const { store, json, calls } = await start();
    for (let client = 0; client < 101; client += 1) store(`dev/c${client}`);
    expect((await json()).clients).toHaveLength(101);
    expect(calls.filter((call) => call === 'ListSecrets')).toHaveLength(2);
  });

  it('shows a client whose secret is marked for deletion, and until when it can be restored', async () => {
    const { store, run, json } = await start();
    store('dev/acme').deletion = { goneAt: Date.UTC(2099, 0, 31) };
    expect((await run()).stdout).toMatch(/^acme .* deleted, gone on 2099-01-31 /m);
    expect(await json()).toMatchObject({ clients: [{ client: 'acme', deleted_at: '2099-01-31T00:00:00.000Z' }] });
  });

  it('says so when there is none', async () => {
    const { run } = await start();
    expect(await run()).toEqual(ended(0, /^(?:CLIENT.*\n)?$/, /There is no client yet: client put --create/));
  });

  it('tells what AWS answered in its own words', async () => {
    const { run, failWith } = await start();
    failWith('access-denied');
    const { exitCode, stdout, stderr } = await run('--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toHaveProperty('detail');
    expect(stderr).toMatch(/\nerror: aws-access-denied: .*ListSecrets in eu-west-1 \(AccessDeniedException\)\n/);
  });
});

describe('client list with the table', () => {
  it('shows the state of each pair at once: proven, rejected, paused, disabled, enabled', async ({ world }) => {
    const list = async (options = '') => (await world.run(`client list${options}`)).stdout;
    expect(await list()).toMatch(/^acme +customer-insights +unproven +- +- +[0-9a-f]{8} +- +\d+ s$/m);

    world.tokenService.respondWith('customer-insights', { status: 401 });
    world.tokenService.respondWith('merchant-payment-cleansing', { status: 503, headers: { 'retry-after': '300' } });
    await world.run('client check acme');
    const failed = await list();
    expect(failed).toMatch(/^acme +customer-insights +rejected since \S+Z +- +- /m);
    expect(failed).toMatch(/^acme +merchant-payment-cleansing +paused until \S+Z +- +- /m);

    for (const service of SERVICES) world.tokenService.respondWith(service, undefined);
    await world.run('client retry acme --yes');
    await world.run('client check acme');
    expect(await list()).toMatch(/^acme +customer-insights +ok +\d+ s +(?:59 min|1 h) +[0-9a-f]{8} +- +\d+ s$/m);

    await world.run('client disable acme --service customer-insights --yes');
    const time = expect.stringMatching(/Z$/);
    const pairs = [
      { service: 'customer-insights', state: 'disabled', since: time },
      { service: 'merchant-payment-cleansing', state: 'ok', proven_at: time, token_expires_at: time },
    ];
    expect((await world.json('client list')).clients).toMatchObject([{ client: 'acme', pairs }]);
    await world.run('client enable acme --service customer-insights --yes');
    expect(await list(' --service customer-insights')).toMatch(/^CLIENT .*\nacme +customer-insights +ok .*\n$/);
  });

  it('calls a version that no service has accepted yet unproven, while the token of the one before lives', () => {
    const now = Date.UTC(2026, 0, 1);
    const [issuedAt, expiresAt] = [now - 60_000, now + 60_000];
    const visible = {
      fingerprint: '0123456789abcdef',
      credentialVersion: 'v1',
      tokenType: 'Bearer',
      expirySource: 'response',
      ...{ issuedAt, expiresAt, refreshAt: now, lifetimeSeenMs: 120_000, sameTokenAgain: false },
    } as const;
    const item = {
      pair: { S: 'acme/customer-insights' },
      ...sealAttributes({ bytes: new Uint8Array(1), keyVersion: 'key', visible }),
    };
    const pair = { client: 'acme', service: 'customer-insights' };
    const ok = { ...pair, state: 'ok', provenAt: issuedAt };
    expect(stateOf(pair, item, 'v2', now)).toEqual({ ...pair, state: 'unproven', tokenExpiresAt: expiresAt });
    expect(stateOf(pair, item, 'v1', now)).toEqual({ ...ok, tokenExpiresAt: expiresAt });
    expect(stateOf(pair, item, 'v1', expiresAt)).toEqual(ok);
  });

  it('shows the rest when the table cannot be read', async ({ world }) => {
    const rest = ended(
      0,
      /^acme +all +- +- +- +[0-9a-f]{8} /m,
      /^The states of the pairs cannot be read: aws-unavailable/,
    );
    expect(await world.run('client list', { env: { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' } })).toEqual(rest);
  });

  it('shows them again and again with --watch, until Ctrl-C', async ({ world }) => {
    const watching = beginCommandLine(['client', 'list', '--watch', '--every', '1'], world.shell);
    await expect.poll(() => watching.output.stdout, { timeout: 60_000 }).toMatch(/CLIENT .*CLIENT /s);
    watching.interrupt();
    const tables = /^local {2}\S+Z {2}\nCLIENT .*\nacme .*\nacme .*\nlocal /;
    expect(await watching.finished).toMatchObject({ exitCode: 130, stdout: expect.stringMatching(tables) });
  });
});

it('client show shows one client, with every version of its credential', async ({ world }) => {
  await world.run('client put acme', { input: NEW });
  const pairs = /^CLIENT .*\nacme +customer-insights +ok .*\nacme +merchant-payment-cleansing +ok .*\n\n/.source;
  const versions = /STAGE .*\nAWSCURRENT +\S{36} +\S+Z\nAWSPREVIOUS +\S{36} +\S+Z\n$/.source;
  expect(await world.run('client show acme')).toEqual(ended(0, new RegExp(pairs + versions)));
  expect(await world.json('client show acme')).toMatchObject({
    environment: 'local',
    client: 'acme',
    services: 'all',
    versions: expect.arrayContaining([expect.objectContaining({ stages: ['AWSCURRENT'] })]),
    pairs: [{ state: 'ok' }, { state: 'ok' }],
  });
});
