import type { ServerResponse } from 'node:http';
import { CreateSecretCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished } from 'vitest';
import { readPairState } from '../../../../functions/aws/pair-table/pair-state.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { exampleToken } from '../../../support/pair/pair-examples.ts';
import { startSecretsManager } from '../../../support/processes/stand-ins.ts';
import { answerWith } from '../../../unit/client/loopback-server.ts';
import { answering, ended, runCommandLine, SHELL_KEY } from '../shared/command-line.ts';
import { inFrontOf, it, NEW, OLD, SERVICES, WRONG } from '../shared/operator-world.ts';

const DAY_MS = 24 * 60 * 60_000;
const [INSIGHTS, CLEANSING] = SERVICES;

/** An environment `dev` whose secrets have versions of any age, and whose table is not in reach. */
async function start() {
  const standIn = await startSecretsManager({ keys: [SHELL_KEY] });
  onTestFinished(standIn.close);
  const run = async (args: readonly string[] = [], table = 'http://127.0.0.1:9') => {
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: standIn.url, AWS_ENDPOINT_URL_DYNAMODB: table };
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
      const id = `${name.replaceAll(/\W/g, '-')}-${age}`.padEnd(32, '0');
      Object.assign(secret.versions.add(id, value, stages), { createdAt: Date.now() - age * DAY_MS - 1 });
    }
    return secret;
  };
  return { ...standIn, store, run };
}

type Version = readonly [ageDays: number, ...stages: string[]];

describe('client list', () => {
  it('shows services and versions, whole in JSON, and names those that are old or have no list of services', async () => {
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
    // The list has no states.
    expect(exitCode).toBe(1);
    const old =
      /^(?:AWS_\S+ is set: this is not the "dev" in AWS\.\n){2}The states .* cannot be read: .*\nAWS may list .* five minutes ago; client show .*\nacme, initech: without the tag "services" .*\nhooli: .* older than 365 days .*\n$/;
    expect(stderr).toMatch(old);
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^CLIENT, SERVICE +STATE +PROVEN AT +TOKEN UNTIL$/),
      expect.stringMatching(
        /^acme: current dev-acme, stored \S+Z; pending dev-acme, stored \S+Z \(unproven\); previous dev-acme, stored \S+Z$/,
      ),
      expect.stringMatching(/^ {2}all +- +- +-$/),
      expect.stringMatching(/^globex: current dev-glob, stored \S+Z$/),
      expect.stringMatching(/^ {2}customer-insights merchant-payment-cleansing +- +- +-$/),
      expect.stringMatching(/^hooli: current dev-hool, stored \S+Z$/),
      expect.stringMatching(/^ {2}customer-insights +- +- +-$/),
      expect.stringMatching(/^initech: to be deleted on 2099-01-31T00:00:00Z; current dev-init, stored -$/),
      expect.stringMatching(/^ {2}all +- +- +-$/),
      '',
    ]);
    const stored_at = expect.stringMatching(/Z$/);
    const versions = [{ version: 'dev-globex-3'.padEnd(32, '0'), stages: ['AWSCURRENT'], stored_at }];
    const { environment, clients } = JSON.parse((await run(['--json'])).stdout);
    expect(environment).toBe('dev');
    expect(clients).toContainEqual(expect.objectContaining({ client: 'acme', services: 'all' }));
    expect(clients).toContainEqual({ client: 'globex', services: SERVICES, versions, pairs: null });
  });

  it('shows unproven pairs, and says so, when what health found cannot be read', async () => {
    const { store, run } = await start();
    store('dev/acme', [[12, 'AWSCURRENT']], INSIGHTS);
    const denied = { __type: 'com.amazon.coral.service#AccessDeniedException' };
    const table = await answering((response, request) =>
      (request.body.includes('notify:') ? answerWith(400, denied) : answerWith(200, {}))(response, request),
    );
    const { stdout, stderr } = await run([], table.url);
    expect(stdout).toMatch(/^ {2}customer-insights +unproven +- +-$/m);
    expect(stderr).toMatch(/^What health found last cannot be read \(memory-AccessDeniedException\)\.$/m);
  });

  it('reads every page, and shows clients of this environment only, in the order of their numbers', async () => {
    const { store, run, operations, failWith } = await start();
    for (let client = 0; client < 100; client += 1) store(`dev/c${client}`, [], CLEANSING);
    const foreign = ['dev/acme/old', 'dev/-x', 'dev-2/acme', 'prod/acme'];
    for (const name of ['dev/last10', 'dev/last9', ...foreign]) store(name, [], INSIGHTS);
    const { stdout } = await run(['--json', '--service', INSIGHTS]);
    expect(JSON.parse(stdout).clients).toMatchObject([{ client: 'last9' }, { client: 'last10' }]);
    expect(operations.filter((call) => call === 'ListSecrets')).toHaveLength(2);
    failWith('access-denied');
    const refused = /\nerror: aws-access-denied: .*ListSecrets in eu-west-1 \(AccessDeniedException\)\n/;
    expect(await run(['--json'])).toEqual(ended(1, /"detail"/, refused));
  });
});

describe('client list with the table', () => {
  it('shows the state of each pair at once: proven, rejected, paused, held, disabled, enabled', async ({ world }) => {
    const list = async (options = '') => (await world.run(`client list${options}`)).stdout;
    expect(await list()).toMatch(/^acme: current [0-9a-f]{8}, stored \S+Z\n {2}customer-insights +unproven +- +-$/m);

    world.tokenService.behave(INSIGHTS, { answer: { status: 401 } });
    world.tokenService.behave(CLEANSING, { answer: { status: 503, headers: { 'retry-after': '300' } } });
    await world.run('client check acme');
    const failed = await list();
    expect(failed).toMatch(/^ {2}customer-insights +rejected since \S+Z +- +-$/m);
    expect(failed).toMatch(/^ {2}merchant-payment-cleansing +paused until \S+Z +- +-$/m);

    world.tokenService.behave(CLEANSING, { answer: { status: 404 } });
    await world.run('client retry acme --yes');
    await world.run('client check acme');
    expect(await list()).toMatch(/^ {2}merchant-payment-cleansing +held until \S+Z +- +-$/m);

    for (const service of SERVICES) world.tokenService.behave(service, {});
    await world.run('client retry acme --yes');
    await world.run('client check acme');
    expect(await list()).toMatch(/^ {2}customer-insights +ok +\S+Z +\S+Z$/m);

    await world.run(`client disable acme --service ${INSIGHTS} --yes`);
    const time = expect.stringMatching(/Z$/);
    const pairs = [
      { service: INSIGHTS, state: 'disabled', since: time },
      { service: CLEANSING, state: 'ok', proven_at: time, token_expires_at: time },
    ];
    expect((await world.json('client list')).clients).toMatchObject([{ client: 'acme', pairs }]);
    await world.run(`client enable acme --service ${INSIGHTS} --yes`);
    expect(await list(` --service ${INSIGHTS}`)).toMatch(/^CLIENT.*\nacme: .*\n {2}customer-insights +unproven .*\n$/);
  });

  /** @see HarperFast/harper#2173 */
  it('shows a client disabled as long as its secret is denied to the broker, whatever its flags', async ({ world }) => {
    await world.run('client disable acme --yes');
    await world.run(`client enable acme --service ${INSIGHTS} --yes`);
    for (const command of ['client list', 'client show acme']) {
      const { stdout } = await world.run(command);
      expect(stdout).toMatch(/^ {2}customer-insights +disabled +- +-\n {2}merchant-payment-cleansing +disabled since/m);
    }
    const unread = await answering(answerWith(400, { __type: 'AccessDeniedException' }));
    const { stdout } = await world.run('client show acme', { env: { AWS_ENDPOINT_URL_DYNAMODB: unread.url } });
    expect(stdout.match(/ {2}disabled +- +-$/gm)).toHaveLength(2);
  });

  it('shows the states when the mark for deletion of a listed secret came since', async ({ world }) => {
    const marked = { __type: 'InvalidRequestException', message: 'The secret was marked for deletion.' };
    const refuse = (response: ServerResponse) => void response.writeHead(400).end(JSON.stringify(marked));
    const { env } = await inFrontOf('SECRETS_MANAGER', ({ operation }) =>
      operation === 'GetResourcePolicy' ? refuse : undefined,
    );
    const { stdout } = await world.run('client list', { env });
    expect(stdout).toMatch(/^ {2}customer-insights +unproven /m);
  });

  it('fits into 80 and 200 columns of a terminal: a line for each pair, whole words on stderr', async ({ world }) => {
    // Without a tag, of which stderr says more than a line.
    const untagged = { Name: 'token-broker/local/umbrella', SecretString: JSON.stringify(OLD) };
    await world.secretsManager.send(new CreateSecretCommand(untagged));
    await world.run('client put acme --yes --expires 2099-03-01', { input: NEW });
    const whole = await world.run('client list');
    expect(whole.stdout).toMatch(/merchant-payment-cleansing +ok +\d{4}-\d\d-\d\dT/);
    for (const columns of [80, 200]) {
      const { stdout, stderr } = await world.run('client list', { env: { COLUMNS: `${columns}` } });
      const lines = stdout.trimEnd().split('\n');
      expect(Math.max(...[...lines, ...stderr.split('\n')].map(({ length }) => length))).toBeLessThanOrEqual(columns);
      expect(lines).toHaveLength(columns === 80 ? 8 : 7);
      // The token of an hour may end on the next day.
      expect(stdout).toMatch(/^ {2}merchant-payment-cleansing +ok( +(\d{4}-\d\d-\d\d )?\d\d:\d\dZ){2}$/m);
      expect(stderr.split(/\s+/)).toEqual(whole.stderr.split(/\s+/));
    }
  });

  it('shows what health found last, and the reason why a secret is malformed, with client rollback first', async ({
    world,
  }) => {
    await world.store({ client_id: 'acme-id' }, 'AWSCURRENT');
    await world.addClient('umbrella', INSIGHTS, { client_id: 'umbrella-id' });
    await world.run('health --run');
    const without = /^umbrella on \S+: .* secret is missing\. Store \S+ again with client put umbrella (?!.*rollback)/m;
    expect((await world.run('client list')).stderr).toMatch(without);
    for (const command of ['client list', 'client show acme']) {
      const { stdout, stderr } = await world.run(command);
      expect(stdout).toMatch(/^ {2}customer-insights +secret-malformed since \S+Z +- +-$/m);
      const reason =
        /^acme on customer-insights, merchant-payment-cleansing: .* secret is missing\. If client check acme --stage AWSPREVIOUS .* client rollback acme: .* client put acme /m;
      expect(stderr).toMatch(reason);
    }
    const found = { state: 'secret-malformed', since: expect.any(String), detail: expect.stringContaining('secret') };
    const shown = { environment: 'local', client: 'acme', pairs: [found, found] };
    expect(await world.json('client show acme')).toMatchObject(shown);

    // Another version is current by now, which health has not seen.
    await world.run('client rollback acme --yes');
    expect((await world.run('client discard acme --previous --yes')).exitCode).toBe(0);
    expect((await world.run('client show acme')).stderr).not.toContain('rollback');
  });

  it('shows the trial of a pending version, by each service', async ({ world }) => {
    world.tokenService.behave(CLEANSING, { answer: { status: 404 } });
    await world.run('client put acme --yes', { input: WRONG });
    const trials =
      /^acme: current .*; pending [0-9a-f]{8}, stored \S+Z \(rejected at \S+Z by customer-insights, misconfigured at \S+Z by merchant-payment-cleansing\)$/m;
    expect((await world.run('client show acme')).stdout).toMatch(trials);
  });

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
