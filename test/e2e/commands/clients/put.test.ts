import { Readable } from 'node:stream';
import { CreateSecretCommand, DescribeSecretCommand, GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { environments } from '../../../../lib/environments.ts';
import { changed } from '../../../unit/settings/example-form.ts';
import { beginCommandLine, type Dialogue, ended, typeAtCommandLine, writeSettings } from '../shared/command-line.ts';
import { ACME, it, NEW, OLD, type OperatorWorld, SERVICES, WRONG } from '../shared/operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
const PUT = 'client put acme --yes';
const BOTH = SERVICES.join(' ');
const ONE_SERVICE = `${PUT} --services ${INSIGHTS}`;
const PUT_IN_DEV = '--environment dev client put new --create --yes --kms-key-id alias/keys';

async function storedValue({ secretsManager }: OperatorWorld, SecretId = ACME): Promise<unknown> {
  const { SecretString = '' } = await secretsManager.send(new GetSecretValueCommand({ SecretId }));
  return JSON.parse(SecretString);
}

describe('client put', () => {
  it('promotes a credential that every service accepts', async ({ world }) => {
    const before = await world.describe();
    const result = await world.run(PUT, { input: NEW });
    const found = /customer-insights +accepted .*\nmerchant-payment-cleansing +accepted .*\nacme: .* AWSCURRENT/;
    expect(result).toEqual(ended(0, found, /uses it within 60 s/));
    const after = await world.describe();
    expect(after).toEqual({ ...before, AWSCURRENT: expect.any(String), AWSPREVIOUS: before.AWSCURRENT });
    expect(result.stdout).toContain(after.AWSCURRENT);
  });

  const SHARED = { TOKEN_BROKER_AUTH_URLS: SERVICES.map((name) => `${name}:https://idp.example.com`).join(' ') };

  it('sends a credential once to the services of one address while it is rejected there', async ({ world }) => {
    const rejections = () => world.tokenService.requests.filter(({ ok }) => !ok).length;
    const before = await world.describe();
    const result = await world.run(PUT, { input: WRONG, env: SHARED });
    expect(await world.describe()).toEqual({ ...before, AWSPENDING: expect.any(String) });
    const state = /although it is rejected by customer-insights, untried on merchant-payment-cleansing\.\n$/;
    const untried =
      /customer-insights +rejected +tried .*\nmerchant-payment-cleansing +untried +untried +- .*AWSPENDING/s;
    expect(result).toEqual(ended(1, untried, state));
    expect(result.stderr).toMatch(/^merchant-\S+: not tried: customer-insights at the same address rejected it\.$/m);
    expect(rejections()).toBe(1);
    world.letHalfAMinutePass();
    const told = await world.json('client promote acme', { env: SHARED });
    const rejected = { service: INSIGHTS, finding: 'rejected', tried: true, proven_by: 'latch' };
    const checks = [rejected, { service: CLEANSING, finding: 'untried', tried: false }];
    expect(told).toMatchObject({ environment: 'local', client: 'acme', stage: 'AWSPENDING', checks });
    expect(rejections()).toBe(1);
    await world.run('client promote acme --force --yes', { env: SHARED });
    expect(rejections()).toBe(2);
    expect((await world.run(PUT, { input: NEW, env: SHARED })).exitCode).toBe(0);
  });

  it('says after a redirect that the credential may be wrong, until it is in use', async ({ world }) => {
    world.tokenService.behave(INSIGHTS, { answer: { status: 302, headers: { location: '/login?error=1' } } });
    const doubt = /customer-insights: Some services answer a wrong secret with a redirect or 403 .* Compare authUrl/;
    expect(await world.run(PUT, { input: NEW })).toEqual(ended(1, /misconfigured/, doubt));
    expect((await world.run('client check acme')).stderr).toMatch(/^customer-insights: Compare authUrl/m);
  });

  it('promotes no credential that one service rejects, or the operator may not check', async ({ world }) => {
    world.tokenService.behave(CLEANSING, { answer: { status: 503 } });
    const half = /customer-insights +accepted .*\nmerchant-payment-cleansing +unreachable .*AWSPENDING/s;
    expect(await world.run(PUT, { input: NEW })).toEqual(ended(1, half, /./));
    const denied = /customer-insights +access-denied .*AWSPENDING/s;
    expect(await world.run(PUT, { input: NEW, env: world.stranger })).toEqual(ended(1, denied, /./));
  });

  it('takes the services from --services, the credential or the tag, and writes both', async ({ world }) => {
    const put = async (command: string, input: object) => {
      const { stdout, stderr } = await world.run(command, { input });
      const { services } = await world.describe();
      const checked = SERVICES.filter((service) => stdout.includes(service));
      return { checked, services, value: await storedValue(world), stderr };
    };
    const one = { checked: [INSIGHTS], services: INSIGHTS };
    const said = await put(ONE_SERVICE, NEW);
    expect(said).toMatchObject({ ...one, value: { ...NEW, services: { [INSIGHTS]: {} } } });
    expect(said.stderr).toMatch(/\n- removes the service merchant-\S+ from acme: callers get no token of it/);
    expect(await put(PUT, OLD)).toMatchObject({ ...one, value: { ...OLD, services: { [INSIGHTS]: {} } } });
    const named = await put(PUT, { ...NEW, services: SERVICES });
    expect(named).toMatchObject({ checked: SERVICES, services: BOTH });
    expect(named.stderr).toMatch(/\n- adds the service merchant-payment-cleansing to acme\n/);
    const all = { checked: SERVICES, services: 'all' };
    expect(await put(`${PUT} --services all`, OLD)).toMatchObject({ ...all, value: { ...OLD, services: 'all' } });
    const own = { ...WRONG, services: { [INSIGHTS]: NEW, [CLEANSING]: NEW } };
    expect(await put(`${PUT} --services all`, own)).toMatchObject({ ...all, value: own });
  });

  it('lets the tag follow the version in use, so that a rejected one changes nothing', async ({ world }) => {
    const before = await world.describe();
    await world.run(ONE_SERVICE, { input: WRONG });
    expect(await world.describe()).toEqual({ ...before, AWSPENDING: expect.any(String) });
    expect((await world.run('client check acme --stage AWSPENDING')).stdout).not.toContain(CLEANSING);

    await world.run('client promote acme --force --accept-rejected --yes');
    expect(await world.describe()).toMatchObject({ services: INSIGHTS });
    const back = await world.run('client rollback acme --yes');
    // Of a version that no command has stored the services are unknown.
    expect(back).toEqual(ended(0, /./, /^(?!.*the service).*$/s));
    await world.run(PUT, { input: { ...NEW, services: SERVICES } });
    const dropped = /\n- removes the service merchant-\S+ from acme/;
    await world.run(ONE_SERVICE, { input: OLD });
    expect(await world.run('client rollback acme --yes')).toEqual(ended(0, /./, /\n- adds the service merchant/));
    expect(await world.describe()).toMatchObject({ services: BOTH });
    expect(await world.run('client rollback acme --yes')).toEqual(ended(0, /./, dropped));
  });

  it('reports another client_id blanks and invisible characters, and shows none', async ({ world }) => {
    const plan = async (input: object, env = {}) =>
      (await world.run('client put acme --dry-run', { input, env })).stderr.match(/^- .*$/gm);
    const [OTHER, BLANK] = [/changes the client_id: it differs/, /also stores the blank with which/];
    expect(await plan(WRONG)).toEqual([expect.any(String)]);
    const both = [expect.any(String), expect.stringMatching(BLANK), expect.stringMatching(OTHER)];
    expect(await plan({ ...NEW, secret: 'marked ' })).toEqual(both);
    expect((await plan({ ...OLD, secret: 'mar\ufe0fked\u200d' }))?.join()).toMatch(/invisible U\+FE0F, U\+200D in/);
    expect((await plan(NEW))?.join()).toMatch(OTHER);
    expect((await plan(OLD, world.stranger))?.join()).toMatch(/may change the client_id: .* cannot be read/);
  });

  it('reads no secret in use where a trail rings for each read', async ({ world }) => {
    const stored = { Name: 'token-broker/dev/acme', SecretString: JSON.stringify({ ...OLD, services: 'all' }) };
    await world.secretsManager.send(new CreateSecretCommand(stored));
    const plan = async () => (await world.run('client put acme --dry-run --environment dev', { input: NEW })).stderr;
    expect(await plan()).toMatch(/- changes the client_id: /);
    writeSettings({ dev: { ...environments.dev, trail: {} } });
    expect(await plan()).toMatch(/may change the client_id: .* cannot be read/);
  });

  it.for(['typed', 'piped'])(
    'stores the headers of a client, %s, and says what must not run',
    async (way, { world }) => {
      writeSettings({ dev: changed(environments.dev, `services/${INSIGHTS}/clientHeaders`, ['X-Api-Key']) });
      const value = { ...NEW, 'X-Api-Key': 'marked-key' };
      const typed: Dialogue = Object.entries(value).map(([name, text]) => [`${name}: `, `${text}\r`]);
      const { screen } =
        way === 'typed'
          ? await typeAtCommandLine(PUT_IN_DEV.split(' '), world.shell, typed)
          : { screen: (await world.run(PUT_IN_DEV, { input: value })).stderr };
      expect(screen).not.toContain('marked-key');
      expect(screen).toMatch(/\n- stores headers .*: wait until no version of 1\.1\.0 has calls \(release list\)/);
      expect(await storedValue(world, 'token-broker/dev/new')).toMatchObject(value);

      const incomplete = await world.run(PUT_IN_DEV.replace('new', 'other'), { input: NEW });
      const refusal =
        /"X-Api-Key": "…"}\nerror: credential-malformed: .*X-Api-Key is missing\nNothing .* Pass {.*"X-Api-Key": "…"} as/;
      expect(incomplete).toEqual(ended(1, '', refusal));
    },
  );

  it('asks for the headers of the services of npm start, and takes them from JSON in any case', async ({ world }) => {
    const env = { TOKEN_BROKER_CLIENT_HEADERS: `${INSIGHTS}:X-Api-Key ${CLEANSING}:x-id` };
    const run = (input: object) => world.run(PUT, { input, env });
    expect(await run(NEW)).toEqual(ended(1, '', /{.*"X-Api-Key": "…", "x-id": "…"}\nerror: credential-malformed: /));
    const services = { [INSIGHTS]: { 'x-api-KEY': 'marked-1' }, [CLEANSING]: { 'X-ID': 'marked-3' } };
    expect((await run({ ...NEW, 'x-Id': 'marked-2', services })).exitCode).toBe(0);
    expect(await storedValue(world)).toEqual({ ...NEW, 'x-Id': 'marked-2', services });
    const twice = { ...NEW, 'x-api-key': 'marked-1', 'X-API-KEY': 'marked-2', 'x-id': 'marked-3' };
    expect(await run(twice)).toEqual(ended(1, '', /x-api-key and X-API-KEY contradict each other/i));
  });

  const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString().slice(0, 10);

  it('stores the expiry of a credential, lists it, and health reports it', async ({ world }) => {
    const near = days(31);
    const plan = `\n- stores the end of the credential: ${near}T00:00:00.000Z\n`;
    for (const option of [' --dry-run', '']) {
      expect((await world.run(`${PUT} --expires ${near}${option}`, { input: NEW })).stderr).toContain(plan);
    }
    expect(await storedValue(world)).toMatchObject({ client_secret_expires_at: Date.parse(near) / 1_000 });
    const [check] = (await world.json('client check acme')).checks;
    expect(check).toMatchObject({ credential_expires_at: `${near}T00:00:00.000Z` });
    const list = await world.run('client list');
    expect(list).toEqual(ended(0, new RegExp(`^acme: current .*; ends ${near}T00:00:00Z`, 'm')));

    world.letTimePass(32 * 86_400_000);
    await world.run('health --run');
    expect(world.messages.map(({ subject }) => subject)).toContainEqual(expect.stringMatching(/ ended: acme on /));
    const warning = /^acme: the credential has ended, or ends within 30 days; /m;
    expect((await world.run('client list')).stderr).toMatch(warning);
    world.tokenService.behave(INSIGHTS, { answer: { status: 401 } });
    world.letTimePass(86_400_000);
    const advice = /^customer-insights: The credential has expired: get/m;
    expect((await world.run('client check acme')).stderr).toMatch(advice);
  });

  it('says what an end means that has passed, is missing, is of one service, or cannot be read', async ({ world }) => {
    const [near, far] = [days(31), days(400)];
    const plan = async (input: object, options = '') => (await world.run(`${PUT}${options}`, { input })).stderr;
    expect(await plan({ ...NEW, client_secret_expires_at: 1 })).toContain('01.000Z, which is past\n');
    await plan(NEW, ` --expires ${near}`);
    const back = await world.run('client rollback acme --dry-run');
    expect(back.stderr).toContain('with an end: 1970-01-01T00:00:01.000Z\n');
    const gone = `stores no end: that of the current version is ${near}T00:00:00.000Z, and --expires is missing`;
    expect(await plan(OLD, ' --json')).toContain(gone);
    const services = { [INSIGHTS]: { client_secret_expires_at: Date.parse(far) / 1_000 }, [CLEANSING]: {} };
    expect(await plan({ ...NEW, services })).toContain(`: ${far}T00:00:00.000Z never\n`);
    const malformed = { ...NEW, client_secret_expires_at: 'soon' };
    expect(await plan(malformed)).toContain('- stores an end that is no number of seconds');
    const { Tags = [] } = await world.secretsManager.send(new DescribeSecretCommand({ SecretId: ACME }));
    // Two versions have a stage.
    const tagged = Tags.filter(({ Key }) => Key?.startsWith('expires:')).map(({ Value }) => Value);
    expect(tagged).toEqual([`${far}T00:00:00.000Z never`, 'malformed']);
  });

  it('stores a new client, and reports whether its service accepts it', async ({ world }) => {
    const create = (client: string) => `client put ${client} --create --yes --services ${INSIGHTS}`;
    const accepted = /AWS made it current at once\. Callers get tokens as soon as/;
    expect(await world.run(create('globex'), { input: NEW })).toEqual(ended(0, /./, accepted));
    expect(await world.describe('token-broker/local/globex')).toMatchObject({ services: INSIGHTS });
    const refused = /no caller had a token of the client before\. client check tries it again\.\n$/;
    expect(await world.run(create('hooli'), { input: WRONG })).toEqual(ended(1, /./, refused));
    const unasked = /A first version is in use, untried:\nclient check initech tries it, another client put initech /;
    const unheard = { TOKEN_BROKER_URL: 'http://127.0.0.1:9' };
    expect(await world.run(create('initech'), { input: NEW, env: unheard })).toEqual(ended(1, '', unasked));
  });

  // @see cachix/secretspec#133
  it('stores a new secret with the named key and the tags that an organization may demand', async ({ world }) => {
    writeSettings({ dev: { ...environments.dev, tags: { 'cost-centre': '4711' } } });
    await world.run(PUT_IN_DEV, { input: NEW });
    const described = new DescribeSecretCommand({ SecretId: 'token-broker/dev/new' });
    const { KmsKeyId, Tags } = await world.secretsManager.send(described);
    expect(KmsKeyId).toBe('alias/keys');
    expect(Tags).toContainEqual({ Key: 'cost-centre', Value: '4711' });
  });

  it('says before it stores the first version of a secret that it is in use at once, untried', async ({ world }) => {
    await world.secretsManager.send(new CreateSecretCommand({ Name: 'token-broker/local/globex' }));
    const { stdout, stderr } = await world.run(PUT.replace('acme', 'globex'), { input: WRONG });
    expect(stderr).toMatch(/^- stores the first version of .*\/globex, in use at once, untried, and checks it on /m);
    expect(stdout).toMatch(/globex: version .* is AWSCURRENT\n$/);
    expect(await world.describe('token-broker/local/globex')).toMatchObject({ services: expect.any(String) });
  });
});

const OTHER_SERVICES = /credential-malformed: .*services names no service, or a service that the client does not get/;
const TYPING_ERROR =
  /^error: secret-missing: .* "amce" .*\nDid you mean acme\? Nothing was stored\. --create makes a new client\.\n$/;
const EXPIRING = `${PUT} --expires 2099-03-01`;
const ENDING_ELSEWHERE = { ...NEW, services: { [CLEANSING]: {}, [INSIGHTS]: { client_secret_expires_at: 1 } } };
const TWICE = JSON.stringify(NEW).replace('}', ',"secret":"marked-second"}');

describe('client put stores nothing, and repeats nothing', () => {
  it.for<readonly [what: string, command: string, input: object | string, message: RegExp, exitCode?: number]>([
    ['of nothing', PUT, '', /no-credential: Nothing came/],
    ['of a text that is no JSON', PUT, 'marked-secret', /credential-malformed: .*not a JSON object/],
    ['of an invisible character', PUT, { ...NEW, secret: 'marked\u200b' }, /contains U\+200B, which is not visible/],
    ['without a secret', PUT, { client_id: 'marked-id' }, /secret is missing/],
    ['of more than a secret can hold', PUT, 'marked'.repeat(20_000), /longer than 65536 bytes/],
    ['of a member twice, of which it would keep the last', ONE_SERVICE, TWICE, /a member occurs more than once/],
    ['for services that --services does not name', ONE_SERVICE, { ...NEW, services: [CLEANSING] }, OTHER_SERVICES],
    ['for no service', PUT, { ...NEW, services: [] }, OTHER_SERVICES],
    ['of a colon where that would be cut off', PUT_IN_DEV, { client_id: 'marked:x', secret: 'x' }, /contains a colon/],
    ['for a client that is not there', 'client put amce --yes', NEW, TYPING_ERROR],
    ['with --create for one that is there', `${PUT} --create`, NEW, /client-exists: There is a client "acme" already/],
    ['for one that differs by case only', 'client put Acme --create --yes', NEW, /client-exists: .* "acme" already/],
    ['for a service that there is not', `${PUT} --services insights`, NEW, /has no service "insights"/, 2],
    ['with two ends', EXPIRING, { ...NEW, client_secret_expires_at: 1 }, /--expires and .* differ/, 2],
    ['with another end for a service', EXPIRING, ENDING_ELSEWHERE, /--expires and .* differ/, 2],
    ['without the key of the environment', 'client put new --create --yes --environment dev', NEW, /--kms-key-id/, 2],
  ])('%s', async ([_, command, input, message, exitCode = 1], { world }) => {
    const before = await world.describe();
    const result = await world.run(command, { input });
    expect(result).toEqual(ended(exitCode, '', message));
    if (exitCode === 1) expect(result.stderr).toMatch(/Nothing was stored/);
    expect(await world.describe()).toEqual(before);
    await expect(world.describe('token-broker/dev/new')).rejects.toThrow(/can't find/);
  });
});

it('client put names the pending version on Ctrl-C, and the commands for it', async ({ world }) => {
  world.tokenService.behave(undefined, { fault: 'hang' });
  const input = Readable.from([Buffer.from(JSON.stringify(NEW))]);
  const putting = beginCommandLine(PUT.split(' '), world.shell, input);
  await expect.poll(() => world.tokenService.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
  putting.interrupt();

  const next = /client promote acme checks and promotes it, another client put acme replaces it\.\n$/;
  const result = await putting.finished;
  expect(result).toEqual(ended(130, '', next));
  const { AWSPENDING } = await world.describe();
  expect(result.stderr).toContain(`Storing version ${AWSPENDING} of token-broker/local/acme`);
});

it('--dry-run judges a credential that is typed or piped in like the run, and stores and sends nothing', async ({
  world,
}) => {
  const before = await world.describe();
  const requests = world.tokenService.requests.length;
  for (const input of ['in plain text', { client_id: 'acme-id' }, { ...NEW, services: { other: {} } }]) {
    const dry = await world.run('client put acme --dry-run', { input });
    expect(dry).toEqual(await world.run('client put acme --yes', { input }));
    expect(dry).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('credential-malformed') });
  }
  const input = { ...NEW, secret: `${NEW.secret} ` };
  const { exitCode, stderr } = await world.run('client put acme --dry-run', { input });
  expect(stderr).toMatch(/- also stores the blank .*- changes the client_id.*Nothing was changed: --dry-run/s);
  expect(exitCode).toBe(0);
  const typed: Dialogue = [
    ['client_id: ', `${NEW.client_id}\r`],
    ['secret: ', '\r'],
  ];
  const asked = await typeAtCommandLine(['client', 'put', 'acme', '--dry-run'], world.shell, typed);
  expect(asked).toMatchObject({ exitCode: 1, screen: expect.stringMatching(/credential-malformed/) });
  expect(await world.describe()).toEqual(before);
  expect(world.tokenService.requests).toHaveLength(requests);
});
