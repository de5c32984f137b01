import { describe, expect, it, onTestFinished } from 'vitest';
import { stateOf } from '../../../bin/commands/client/states.ts';
import { sealAttributes } from '../../../functions/aws/pair-table/item.ts';
import { startSecretsManager } from '../../support/stand-ins.ts';
import { beginCommandLine, runCommandLine, SHELL_KEY, withoutProgress } from './command-line.ts';
import { NEW, SERVICES, startOperatorWorld } from './operator-world.ts';

const START = Date.UTC(2026, 0, 1);
const VISIBLE = {
  fingerprint: '0123456789abcdef',
  credentialVersion: 'v1',
  tokenType: 'Bearer',
  expirySource: 'response',
  issuedAt: START - 60_000,
  expiresAt: START + 60_000,
  refreshAt: START,
  lifetimeSeenMs: 120_000,
  sameTokenAgain: false,
} as const;
const DAY_MS = 24 * 60 * 60_000;
/** Said because the environment of these tests is not `local`. */
const STAND_IN = 'AWS_ENDPOINT_URL_SECRETS_MANAGER is set: this is not the "dev" in AWS.\n';
const LIST = ['client', 'list', '--environment', 'dev'];

async function start() {
  let ageDays = 0;
  const standIn = await startSecretsManager({ keys: [SHELL_KEY], now: () => Date.now() - ageDays * DAY_MS - 1 });
  onTestFinished(standIn.close);
  return {
    ...standIn,
    /** Stores versions of a secret, each so many days old, with its stages. */
    store(
      name: string,
      versions: readonly (readonly [ageDays: number, ...stages: string[]])[],
      services?: string,
      named = services,
    ) {
      const entries = named && { services: Object.fromEntries(named.split(' ').map((service) => [service, {}])) };
      const value = { SecretString: JSON.stringify({ client_id: 'marked-id', secret: 'marked-secret', ...entries }) };
      const Tags = services === undefined ? [] : [{ Key: 'services', Value: services }];
      const secret = standIn.store.find(name) ?? standIn.store.create(name, { Tags });
      for (const [age, ...stages] of versions) {
        ageDays = age;
        secret.versions.add(`${name.replaceAll(/\W/g, '-')}-${age}`.padEnd(32, '0'), value, stages);
      }
      ageDays = 0;
      return secret;
    },
    async run(...args: readonly string[]) {
      const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: standIn.url, AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
      const result = await runCommandLine([...LIST, ...args], env);
      expect(result.stdout + result.stderr).not.toMatch(/marked-|garbage/);
      return result;
    },
  };
}

describe('client list', () => {
  it('shows services, versions and the age of the current one, and which is old', async () => {
    const { store, run } = await start();
    store('token-broker/dev/globex', [[3, 'AWSCURRENT']], 'customer-insights merchant-payment-cleansing');
    store('token-broker/dev/acme', [
      [400, 'AWSCURRENT'],
      [12, 'AWSCURRENT'],
      [0, 'AWSPENDING'],
    ]);
    store('token-broker/dev/hooli', [[366, 'AWSCURRENT']], 'customer-insights');
    const { exitCode, stdout, stderr } = await run();
    expect(exitCode).toBe(0);
    expect(withoutProgress(stderr)).toMatch(
      new RegExp(
        `^${STAND_IN}The states of the pairs cannot be read: .*\nhooli: the credential is older than 365 days .*\n$`,
      ),
    );
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^CLIENT +SERVICE +STATE +PROVEN +TOKEN +CURRENT +PENDING +AGE$/),
      expect.stringMatching(/^acme +all +- +- +- +token-br +token-br +12 d$/),
      expect.stringMatching(/^globex +customer-insights merchant-payment-cleansing +- +- +- +token-br +- +3 d$/),
      expect.stringMatching(/^hooli +customer-insights +- +- +- +token-br +- +366 d \(old\)$/),
      '',
    ]);
  });

  it('answers --json with whole version ids and times', async () => {
    const { store, run } = await start();
    store('token-broker/dev/acme', [[12, 'AWSCURRENT']], 'customer-insights');
    const { stdout } = await run('--json');
    const version = 'token-broker-dev-acme-12'.padEnd(32, '0');
    expect(JSON.parse(stdout)).toEqual({
      environment: 'dev',
      clients: [
        {
          client: 'acme',
          services: ['customer-insights'],
          tag_repeated: true,
          versions: [{ version, stages: ['AWSCURRENT'], stored_at: expect.stringMatching(/Z$/) }],
        },
      ],
    });
  });

  it.each([
    ['names no services', ''],
    ['names other services', 'customer-insights merchant-payment-cleansing'],
  ])('tells when a tag is not repeated by the secret, which %s', async (_, named) => {
    const { store, run } = await start();
    store('token-broker/dev/acme', [[12, 'AWSCURRENT']], 'customer-insights', named);
    store('token-broker/dev/globex', [[12, 'AWSCURRENT']], 'customer-insights');
    store('token-broker/dev/hooli', [[12, 'AWSCURRENT']]);
    const { exitCode, stdout, stderr } = await run('--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ clients: [{ tag_repeated: false }, { tag_repeated: true }, {}] });
    expect(stderr).toMatch(/^acme: the secret does not name the services of its tag; client put stores both alike\.$/m);
    expect(stdout).not.toMatch(/"hooli"[^}]*tag_repeated/);
  });

  it('says that it is unknown where the secret may not be read', async () => {
    const world = await startOperatorWorld();
    await world.run(['client', 'put', 'acme', '--services', 'customer-insights'], { input: NEW });
    const { exitCode, stderr } = await world.run(['client', 'list'], { env: world.stranger });
    expect(exitCode).toBe(0);
    expect(stderr).toBe('acme: whether the secret names the services of its tag is unknown.\n');
  });

  it('shows clients of this environment only, and nothing else below its name', async () => {
    const { store, run } = await start();
    for (const name of ['dev/acme', 'dev/acme/old', 'dev/-x', 'dev-2/acme', 'prod/acme']) {
      store(`token-broker/${name}`, [[1, 'AWSCURRENT']]);
    }
    const { clients } = JSON.parse((await run('--json')).stdout);
    expect(clients).toMatchObject([{ client: 'acme' }]);
  });

  it('reads every page', async () => {
    const { store, run, calls } = await start();
    for (let client = 0; client < 101; client += 1) store(`token-broker/dev/c${client}`, [[1, 'AWSCURRENT']]);
    const { clients } = JSON.parse((await run('--json')).stdout);
    expect(clients).toHaveLength(101);
    expect(calls.filter((call) => call === 'ListSecrets')).toHaveLength(2);
  });

  it('shows a client whose secret is marked for deletion, and until when it can be restored', async () => {
    const { store, run } = await start();
    const secret = store('token-broker/dev/acme', [[1, 'AWSCURRENT']]);
    secret.deletion = { goneAt: Date.UTC(2099, 0, 31) };
    expect((await run()).stdout).toMatch(/^acme .* deleted, gone on 2099-01-31 /m);
    expect(JSON.parse((await run('--json')).stdout)).toMatchObject({
      clients: [{ client: 'acme', deleted_at: '2099-01-31T00:00:00.000Z' }],
    });
  });

  it('says so when there is none', async () => {
    const { run } = await start();
    expect(await run()).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/There is no client yet: client put --create/),
    });
  });
});

describe('client list with the table', () => {
  it('shows the state of each pair at once: proven, rejected, paused, disabled, enabled', async () => {
    const world = await startOperatorWorld();
    const list = async (...args: string[]) => (await world.run(['client', 'list', ...args])).stdout;
    expect(await list()).toMatch(/^acme +customer-insights +unproven +- +- +[0-9a-f]{8} +- +\d+ s$/m);

    world.tokenService.respondWith('customer-insights', { status: 401 });
    world.tokenService.respondWith('merchant-payment-cleansing', { status: 503, headers: { 'retry-after': '300' } });
    await world.run(['client', 'check', 'acme']);
    const failed = await list();
    expect(failed).toMatch(/^acme +customer-insights +rejected since \S+Z +- +- /m);
    expect(failed).toMatch(/^acme +merchant-payment-cleansing +paused until \S+Z +- +- /m);

    for (const service of SERVICES) world.tokenService.respondWith(service, undefined);
    await world.run(['client', 'retry', 'acme', '--yes']);
    await world.run(['client', 'check', 'acme']);
    expect(await list()).toMatch(/^acme +customer-insights +ok +\d+ s +(?:59 min|1 h) +[0-9a-f]{8} +- +\d+ s$/m);

    await world.run(['client', 'disable', 'acme', '--service', 'customer-insights', '--yes']);
    const { clients } = JSON.parse(await list('--json'));
    expect(clients).toMatchObject([
      {
        client: 'acme',
        pairs: [
          { service: 'customer-insights', state: 'disabled', since: expect.stringMatching(/Z$/) },
          {
            service: 'merchant-payment-cleansing',
            state: 'ok',
            proven_at: expect.stringMatching(/Z$/),
            token_expires_at: expect.stringMatching(/Z$/),
          },
        ],
      },
    ]);
    await world.run(['client', 'enable', 'acme', '--service', 'customer-insights', '--yes']);
    expect(await list('--service', 'customer-insights')).toMatch(/^CLIENT .*\nacme +customer-insights +ok .*\n$/);
  });

  it('calls a version that no service has accepted yet unproven, while the token of the one before lives', () => {
    const item = {
      pair: { S: 'acme/customer-insights' },
      ...sealAttributes({ bytes: new Uint8Array(1), keyVersion: 'key', visible: VISIBLE }),
    };
    const pair = { client: 'acme', service: 'customer-insights' };
    const told = { ...pair, tokenExpiresAt: VISIBLE.expiresAt };
    expect(stateOf(pair, item, 'v2', START)).toEqual({ ...told, state: 'unproven' });
    expect(stateOf(pair, item, 'v1', START)).toEqual({ ...told, state: 'ok', provenAt: VISIBLE.issuedAt });
    expect(stateOf(pair, item, 'v1', VISIBLE.expiresAt)).toEqual({ ...pair, state: 'ok', provenAt: VISIBLE.issuedAt });
  });

  it('shows the rest when the table cannot be read', async () => {
    const world = await startOperatorWorld();
    const env = { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
    const { exitCode, stdout, stderr } = await world.run(['client', 'list'], { env });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^acme +all +- +- +- +[0-9a-f]{8} /m);
    expect(withoutProgress(stderr)).toMatch(/^The states of the pairs cannot be read: aws-unavailable/);
  });

  it('shows them again and again with --watch, until Ctrl-C', async () => {
    const world = await startOperatorWorld();
    const watching = beginCommandLine(['client', 'list', '--watch', '--every', '1'], world.shell);
    await expect.poll(() => watching.output.stdout, { timeout: 60_000 }).toMatch(/CLIENT .*CLIENT /s);
    watching.interrupt();
    const { exitCode, stdout } = await watching.finished;
    expect(exitCode).toBe(130);
    expect(stdout).toMatch(/^local {2}\S+Z {2}\nCLIENT .*\nacme .*\nacme .*\nlocal /);
  });
});

describe('client show', () => {
  it('shows one client, with every version of its credential', async () => {
    const world = await startOperatorWorld();
    await world.run(['client', 'put', 'acme'], { input: NEW });
    const { exitCode, stdout } = await world.run(['client', 'show', 'acme']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^CLIENT .*\nacme +customer-insights +ok .*\nacme +merchant-payment-cleansing +ok .*\n\nSTAGE .*\nAWSCURRENT +\S{36} +\S+Z\nAWSPREVIOUS +\S{36} +\S+Z\n$/,
    );
    const { stdout: json } = await world.run(['client', 'show', 'acme', '--json']);
    expect(JSON.parse(json)).toMatchObject({
      environment: 'local',
      client: 'acme',
      services: 'all',
      versions: expect.arrayContaining([expect.objectContaining({ stages: ['AWSCURRENT'] })]),
      pairs: [{ state: 'ok' }, { state: 'ok' }],
    });
  });
});

describe('client list, refused or failed', () => {
  it.each([
    [
      'access-denied',
      /\nerror: aws-access-denied: .*secretsmanager:ListSecrets in eu-west-1 \(AccessDeniedException\)\n/,
    ],
    ['reset', /\nerror: aws-unavailable: .*\(ECONNRESET\)\nCheck your network/],
    ['garbage', /\nerror: aws-unavailable: /],
  ] as const)('explains "%s" in its own words', async (fault, message) => {
    const { run, failWith } = await start();
    failWith(fault);
    const { exitCode, stdout, stderr } = await run('--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toHaveProperty('detail');
    expect(stderr).toMatch(message);
  });

  it('says that there are no AWS credentials', async () => {
    const { url } = await start();
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '' };
    const { exitCode, stderr } = await runCommandLine(LIST, { AWS_ENDPOINT_URL_SECRETS_MANAGER: url, ...none });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/\nerror: aws-credentials-missing: .*\nSet AWS_PROFILE/);
  });

  it('ends silently with 130 on Ctrl-C', async () => {
    const { url, calls, failWith } = await start();
    failWith('hang');
    const listing = beginCommandLine(LIST, { AWS_ENDPOINT_URL_SECRETS_MANAGER: url });
    await expect.poll(() => calls.length, { timeout: 60_000 }).toBe(1);
    listing.interrupt();
    expect(await listing.finished).toEqual({ exitCode: 130, stdout: '', stderr: STAND_IN });
  });
});
