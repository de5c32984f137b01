import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { fromIni } from '@aws-sdk/credential-provider-ini';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type AwsCredentials,
  keepAwsCredentials,
  type ReadAwsCredentials,
  standardAwsCredentials,
} from '../../../client/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { AWS_ANSWERS } from './broker-answers.ts';
import { fingerprint, goodAnswer, MINUTE_MS, NOW, PAIR, spyOnWarnings, startClientWorld } from './client-world.ts';
import { type Answer, answerWith, startLoopbackServer } from './loopback-server.ts';

const keys = (name: string): AwsCredentials => ({ accessKeyId: `AKID${name}`, secretAccessKey: 'key' });
const EXPIRED = AWS_ANSWERS.find(({ type }) => type === 'aws-security-token-expired')?.answer ?? answerWith(500, {});

afterEach(() => void vi.unstubAllEnvs());

describe('keepAwsCredentials', () => {
  it('makes one AssumeRole call and one request to the broker of 20 calls, where the SDK would make 20', async () => {
    const sts = await startSts();
    stubProfile(`[profile role]\nrole_arn = arn:aws:iam::111111111111:role/x\nsource_profile = base\n${BASE}`, sts.url);
    for (const [credentials, requests] of [
      [keepAwsCredentials(fromIni({ profile: 'role' })), 1],
      [fromIni({ profile: 'role' }), 20],
    ] as const) {
      sts.requests.length = 0;
      const { nth, asked } = await startClientWorld(goodAnswer(1), { credentials });
      for (let n = 0; n < 20; n += 1) await nth();
      expect([sts.requests.length, asked().length]).toEqual([requests, requests]);
    }
  });

  it.each([
    ['a date', new Date(NOW + 10 * MINUTE_MS), [1, 1, 2]],
    // @see aws/aws-sdk-js-v3#5890
    ['a text', new Date(NOW + 10 * MINUTE_MS).toISOString(), [1, 1, 2]],
    ['a number', NOW + 10 * MINUTE_MS, [1, 1, 2]],
    ['null', null, [1, 1, 1]],
    ['unreadable', 'tomorrow', [1, 2, 3]],
  ])(
    'reads anew five minutes before an expiration that is %s, once for all who wait',
    async (_, expiration, numbers) => {
      stopDate();
      let reads = 0;
      const kept = keepAwsCredentials(async () => ({ ...keys(`${++reads}`), ...Object({ expiration }) }));
      const seen: string[][] = [];
      for (const ms of [0, 5 * MINUTE_MS - 1, 5 * MINUTE_MS]) {
        vi.setSystemTime(NOW + ms);
        seen.push((await Promise.all([kept(), kept()])).map(({ accessKeyId }) => accessKeyId));
      }
      expect(seen).toEqual(numbers.map((n) => [`AKID${n}`, `AKID${n}`]));
    },
  );

  it.each<[string, number, () => Promise<AwsCredentials>]>([
    // @see aws/aws-sdk-js-v3#1196
    ['hangs, as after a freeze', 20_000, () => new Promise(() => undefined)],
    ['returns null', 0, async () => JSON.parse('null')],
    ['throws at once', 0, vi.fn<ReadAwsCredentials>().mockThrow(new Error('no profile'))],
    ['fails', 0, () => Promise.reject(new Error('STS is away'))],
  ])('reads anew after a read that %s', async (_, laterMs, fail) => {
    stopDate();
    const read = vi.fn<ReadAwsCredentials>(async () => keys('ONE')).mockImplementationOnce(fail);
    const kept = keepAwsCredentials(read);
    kept().catch(() => undefined);
    await new Promise(setImmediate);
    vi.setSystemTime(NOW + laterMs);
    // Without an expiration, they are kept.
    for (let n = 0; n < 3; n += 1) expect(await kept()).toEqual(keys('ONE'));
    expect(read).toHaveBeenCalledTimes(2);
  });

  it.each<[string, (early: PromiseWithResolvers<AwsCredentials>) => void]>([
    ['returns', ({ resolve }) => resolve(keys('EARLY'))],
    ['fails', ({ reject }) => reject(new Error('the connection died'))],
  ])('reads anew after a refresh that hangs for 20 s, also when the read before it %s meanwhile', async (_, end) => {
    stopDate();
    const early = Promise.withResolvers<AwsCredentials>();
    const read = vi.fn<ReadAwsCredentials>(async () => keys('ONE'));
    read.mockReturnValueOnce(early.promise).mockReturnValueOnce(new Promise(() => undefined));
    const kept = keepAwsCredentials(read);
    kept().catch(() => undefined);
    void kept({ forceRefresh: true });
    end(early);
    for (const [ms, reads] of [
      [19_999, 2],
      [20_000, 3],
    ] as const) {
      await new Promise(setImmediate);
      vi.setSystemTime(NOW + ms);
      void kept();
      await new Promise(setImmediate);
      expect(read).toHaveBeenCalledTimes(reads);
    }
  });

  it('reads once for all brokers that refresh at once, and again for a later refresh', async () => {
    const read = vi.fn<ReadAwsCredentials>(async () => keys('ONE'));
    const kept = keepAwsCredentials(read);
    await kept();
    for (const reads of [2, 3]) {
      await Promise.all([1, 2, 3].map(() => kept({ forceRefresh: true })));
      await new Promise(setImmediate);
      expect(read).toHaveBeenCalledTimes(reads);
    }
  });
});

describe('a function that returns new access keys at each call', () => {
  it.each([
    ['five calls', (n: number) => `${n}`, 10, 1],
    ['four calls', (n: number) => `${n}`, 4, 0],
    ['two tenants in turn', (n: number) => `${n % 2}`, 10, 0],
  ])('causes one warning at most: %s', async (_, nameOf, calls, count) => {
    const warn = spyOnWarnings();
    let n = 0;
    const { nth } = await startClientWorld(goodAnswer(1), { credentials: async () => keys(nameOf(n++)) });
    for (let call = 0; call < calls; call += 1) await nth();
    const warning = [expect.stringContaining('keepAwsCredentials'), 'TokenBrokerWarning'];
    expect(warn.mock.calls).toEqual(Array(count).fill(warning));
  });
});

describe('AWS credentials that have expired', () => {
  it('are read anew from a profile whose keys another program has rewritten', async () => {
    const write = stubProfile(BASE);
    const { broker, server, answer } = await startClientWorld([goodAnswer(1)], { credentials: undefined });
    await broker.token(PAIR);
    write(BASE.replaceAll('BASE', 'NEW'));
    answer(EXPIRED, goodAnswer(2));
    expect(await broker.token({ ...PAIR, client: 'globex' })).toMatchObject({ fingerprint: fingerprint(2) });
    write(BASE.replaceAll('BASE', 'NEWER'));
    answer(EXPIRED, goodAnswer(3));
    await expect(broker.whoami()).rejects.toMatchObject({ type: 'unexpected-answer' });
    const signers = server.requests.map(({ headers }) => /Credential=AKID(\w+)/.exec(headers.authorization ?? '')?.[1]);
    expect(signers).toEqual(['BASE', 'BASE', 'NEW', 'NEW', 'NEWER']);
  });

  it('fail the call when they have expired again, or are fixed, or nothing may be repeated', async () => {
    for (const [options, requests] of [
      [{ credentials: async () => keys('ONE') }, 2],
      [{ credentials: keys('ONE') }, 1],
      [{ credentials: async () => keys('ONE'), maxAttempts: 1 }, 1],
    ] as const) {
      const { broker, server } = await startClientWorld(EXPIRED, options);
      await expect(broker.token(PAIR)).rejects.toMatchObject({
        type: 'aws-security-token-expired',
        advice: expect.stringMatching(/^Sign in again/),
      });
      expect(server.requests).toHaveLength(requests);
    }
  });

  it('are read once for 20 calls, and keepAwsCredentials drops them', async () => {
    const read = vi.fn(async () => keys(`${read.mock.calls.length}`));
    const answer: Answer = (response, request) => {
      const isFirst = request.headers.authorization?.includes('AKID1/');
      (isFirst ? EXPIRED : goodAnswer(1))(response, request);
    };
    const { broker } = await startClientWorld(answer, { credentials: keepAwsCredentials(read) });
    await Promise.all(Array.from({ length: 20 }, (_, n) => broker.token({ ...PAIR, client: `client-${n}` })));
    expect(read).toHaveBeenCalledTimes(2);
  });
});

describe('AWS credentials that nothing provides', () => {
  const NO_TOKEN = { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/marked' };

  it.each<readonly [happened: string, profile: string, env: Readonly<Record<string, string>>, reason: RegExp]>([
    // @see boto/botocore#3480, aws/eks-pod-identity-agent#89
    ['a pod whose token has expired', '', {}, /: the credentials endpoint of the container or instance answered 400$/],
    // @see aws/aws-sdk-php#3188
    [
      'a pod whose token is not mounted',
      '',
      NO_TOKEN,
      /: a file that the environment or the profile names is missing$/,
    ],
    // @see aws/aws-cdk#20896, thomasmichaelwallace/serverless-better-credentials#13
    ['an SSO session that has ended', 'sso', {}, /: the session of `aws sso login` is missing or has expired$/],
    // @see serverless/serverless#4242
    ['a misspelt profile', 'nowhere', {}, /: the profile "nowhere" does not exist, or has no keys$/],
    ['a program that fails', 'program', {}, /: the credential_process of the profile failed$/],
    ['a role that requires MFA', 'mfa', {}, /: the profile requires MFA$/],
    ['a role that may not be assumed', 'role', {}, /: AWS answered AccessDenied$/],
    ['profiles in a circle', 'circle', {}, /: the profiles name each other as their source$/],
    ['a host that is away', '', { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:9' }, /\(ECONNREFUSED\)$/],
  ])('name the reason and quote nothing: %s', async (_, profile, env, reason) => {
    const error = '<ErrorResponse><Error><Code>AccessDenied</Code><Message>marked</Message></Error></ErrorResponse>';
    const peer = await startLoopbackServer((response) => response.writeHead(400).end(error));
    onTestFinished(peer.close);
    stubProfile(PROFILES, peer.url);
    const variables = { AWS_PROFILE: profile, AWS_CONTAINER_CREDENTIALS_FULL_URI: peer.url, ...env };
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    const credentials = standardAwsCredentials({ maxRetries: 0 });
    const { broker } = await startClientWorld(goodAnswer(1), { credentials });
    const failed = await broker.token(PAIR).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ type: 'aws-credentials-unavailable', detail: expect.stringMatching(reason) });
    expect(inspect(failed, { depth: 9 })).not.toContain('marked');
  });

  it('name no reason of an earlier search', async () => {
    const peer = await startLoopbackServer((response) => response.writeHead(400).end());
    onTestFinished(peer.close);
    stubProfile('', peer.url);
    vi.stubEnv('AWS_PROFILE', '');
    const search = standardAwsCredentials({ maxRetries: 0 });
    for (const [url, reason] of Object.entries({ [peer.url]: /400$/, 'http://127.0.0.1:9': /ECONNREFUSED/ })) {
      vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', url);
      await expect(search()).rejects.toMatchObject({ reason: expect.stringMatching(reason) });
    }
  });
});

it('20 calls with one signal cause no warning of listeners', async () => {
  const warn = spyOnWarnings();
  const { signal } = new AbortController();
  const { broker } = await startClientWorld(goodAnswer(1));
  await Promise.all(Array.from({ length: 20 }, (_, n) => broker.token({ ...PAIR, client: `client-${n}`, signal })));
  expect(warn.mock.calls).toEqual([]);
});

function stopDate(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
  onTestFinished(() => void vi.useRealTimers());
}

const BASE = '[profile base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = key\n';

const ROLE = 'role_arn = arn:aws:iam::111111111111:role/x\nsource_profile';
const PROFILES = `${BASE}[profile role]\n${ROLE} = base
[profile mfa]\n${ROLE} = base\nmfa_serial = arn:aws:iam::111111111111:mfa/me
[profile circle]\n${ROLE} = other\n[profile other]\n${ROLE} = circle
[profile program]\ncredential_process = /bin/sh -c "echo marked >&2; exit 3"
[profile sso]\nsso_session = s\nsso_account_id = 111111111111\nsso_role_name = x
[sso-session s]\nsso_start_url = https://example.com\nsso_region = eu-west-1
`;

/** Makes a file of profiles the only source of credentials, and returns the function that rewrites it. */
function stubProfile(text: string, stsUrl?: string) {
  const file = join(temporaryFolder(), 'config');
  const write = (content: string) => writeFileSync(file, content);
  write(text);
  const variables = {
    ...{ AWS_CONFIG_FILE: file, AWS_SHARED_CREDENTIALS_FILE: `${file}.none`, AWS_PROFILE: 'base' },
    ...{ AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_SESSION_TOKEN: undefined },
    ...{ AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_STS: stsUrl },
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  return write;
}

/** A stand-in of STS that issues new access keys at each AssumeRole. */
async function startSts() {
  let calls = 0;
  const sts = await startLoopbackServer((response) => {
    calls += 1;
    const end = new Date(NOW + 60 * MINUTE_MS + 10 * 365 * 24 * 60 * MINUTE_MS).toISOString();
    const credentials = `<AccessKeyId>ASIA${calls}</AccessKeyId><SecretAccessKey>key</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${end}</Expiration>`;
    const xml = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>${credentials}</Credentials></AssumeRoleResult></AssumeRoleResponse>`;
    response.writeHead(200, { 'content-type': 'text/xml' }).end(xml);
  });
  onTestFinished(sts.close);
  return sts;
}
