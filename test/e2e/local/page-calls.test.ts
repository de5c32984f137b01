import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/signers.ts';
import { BILLING, CALL, startPageWorld, TOKEN } from './page-world.ts';

const DENIED = { type: 'access-denied', title: 'No', detail: 'No rule.', status: 403, retryable: false };
const ACCEPTED = { client: 'acme', service: 'customer-insights', stage: 'AWSCURRENT', finding: 'accepted' };

const bad = (word: string) => ({ word, kind: 'bad' });
const refused = (word: string) => ({ word, kind: 'refused' });

const hasCurl = runs('curl', '--aws-sigv4', 'aws:amz', '--version');

describe('a call of the page', () => {
  it('is signed as the caller, and tells what was sent and what came back', async () => {
    const { call, asked } = await startPageWorld();
    const report = await call({ min_ttl: 60 });

    expect(asked).toEqual(['{"client":"acme","service":"customer-insights","min_ttl":60}']);
    expect(report).toMatchObject({
      outcome: { word: 'issued', kind: 'good' },
      summary: expect.stringMatching(/^: billing asked for acme on customer-insights, 200 in \d+ ms$/),
      fingerprint: '0123456789abcdef',
      hidden: expect.any(String),
    });
    expect(report.request).toMatch(
      /^POST http:\/\/127\.0\.0\.1:\d+\/token\n.*Credential=AKIDBILLING\/.*"min_ttl": 60\n}$/s,
    );
    expect(report.answer).toMatch(/^200 OK\ncontent-type: application\/json\n.*"fingerprint": "0123456789abcdef"\n}$/s);
  });

  it.for<readonly [string, number, unknown, object, RegExp?]>([
    ['a problem', 403, DENIED, refused('access-denied'), /^Ask the operators of the broker|whoami/],
    ['a failure', 503, { ...DENIED, type: 'secrets-unavailable' }, bad('secrets-unavailable'), /./],
    ['a stop', 424, { ...DENIED, type: 'client-disabled' }, bad('client-disabled'), /client enable acme ends it\.$/],
    ['what AWS says', 429, { message: 'Rate Exceeded.' }, bad('AWS answered 429')],
    ['what is no JSON', 502, '<html>', bad('AWS answered 502')],
    ['a success', 200, ACCEPTED, { word: 'accepted', kind: 'good' }],
    ['a finding', 200, { ...ACCEPTED, finding: 'secret-malformed' }, bad('secret-malformed'), /^Store \S+\/acme anew/],
  ])('shows %s as it is, with the advice of the command line', async ([_, statusCode, body, outcome, advice]) => {
    const { call } = await startPageWorld({ statusCode, body });
    const report = await call({ operation: 'check' });

    expect(report).toMatchObject({ outcome });
    expect(report.request).toMatch(/^POST \S+\/check\n/);
    expect(report.hidden).toBeUndefined();
    expect(report.answer).toContain(typeof body === 'string' ? body : JSON.stringify(body, undefined, 2));
    expect(report.advice).toEqual(advice && expect.stringMatching(advice));
  });

  it('leaves it to the broker to judge names', async () => {
    const { call, asked } = await startPageWorld();
    await call({ client: `o'neil "<b>`, service: '' });

    expect(asked).toEqual([JSON.stringify({ client: `o'neil "<b>`, service: '' })]);
  });

  it('asks who the caller is', async () => {
    const body = { role: BILLING.role, account: '111111111111', rules: [] };
    const { call, asked } = await startPageWorld({ statusCode: 200, body });
    const report = await call({ operation: 'whoami', client: undefined, service: undefined });

    expect(asked).toEqual(['{}']);
    expect(report).toMatchObject({
      outcome: { word: 'identified', kind: 'good' },
      summary: expect.stringMatching(/^: billing asked who it is, 200 in \d+ ms$/),
      answer: expect.stringContaining(`"role": "${BILLING.role}"`),
    });
  });

  it.each([
    ['another caller', { ...CALL, caller: 'AKIDOTHER' }, 400],
    ['another operation', { ...CALL, operation: 'health-run' }, 400],
    ['an unknown member', { ...CALL, url: 'http://example.com' }, 400],
    ['a missing member', { ...CALL, operation: undefined }, 400],
    ['no object', '[]', 400],
    ['no JSON', '{', 400],
    ['too much', 'x'.repeat(20_000), 413],
  ])('is not made for %s', async (_, form, status) => {
    const { post, asked } = await startPageWorld();
    expect(await post('/call', form)).toMatchObject({ status });
    expect(asked).toEqual([]);
  });

  it('says so when the broker is gone', async () => {
    const { post, closeBroker } = await startPageWorld();
    await closeBroker();
    expect(await post('/call', CALL)).toMatchObject({ status: 502, body: '{"message":"The broker gave no answer."}' });
  });

  it.skipIf(!hasCurl)(
    `can be repeated with curl${hasCurl ? '' : ' (skipped: curl is missing or too old)'}`,
    async () => {
      const { call, asked } = await startPageWorld();
      const { curl } = await call({ client: `o'neil $(false) "` });
      const keys = { AWS_ACCESS_KEY_ID: BILLING.accessKeyId, AWS_SECRET_ACCESS_KEY: BILLING.secretAccessKey };
      const { stdout } = await promisify(execFile)('sh', ['-c', curl], { env: { ...process.env, ...keys } });

      expect(curl).toMatch(/^\(eval "\$\(PORT=\d+ npm run --silent token-broker -- env billing\)"\ncurl /);
      expect(JSON.parse(stdout)).toMatchObject({ access_token: TOKEN });
      expect(asked[1]).toBe(asked[0]);
    },
  );
});

describe('a token', () => {
  it('does not come to the page before it is asked for', async () => {
    const { call, post } = await startPageWorld();
    const report = await call();

    expect(JSON.stringify(report)).not.toContain(TOKEN);
    expect(report.answer).toContain(`"access_token": "(${TOKEN.length} characters, hidden)"`);
    const revealed = await post('/reveal', { hidden: report.hidden });
    expect(JSON.parse(revealed.body).answer).toBe(report.answer.replace(`(${TOKEN.length} characters, hidden)`, TOKEN));
  });

  it.each([
    ['in a member that a service is set to hand on', { access_token: 'a', refresh: { deep: [TOKEN] }, number: 1 }],
    ['in an answer that is no object', [TOKEN]],
    ['in an answer that is no JSON', `token=${TOKEN}`],
  ])('is hidden %s', async (_, body) => {
    const { call } = await startPageWorld({ statusCode: 200, body });
    const report = await call();

    expect(JSON.stringify(report)).not.toContain(TOKEN);
    expect(report.hidden).toEqual(expect.any(String));
  });

  it('is kept for the last twenty answers', async () => {
    const { call, post } = await startPageWorld();
    const hidden: (string | undefined)[] = [];
    for (let count = 0; count < 21; count++) hidden.push((await call()).hidden);
    const statuses = await Promise.all(
      [0, 1, 20].map(async (index) => (await post('/reveal', { hidden: hidden[index] })).status),
    );

    expect(statuses).toEqual([404, 200, 200]);
  });

  it.each(['', 'no-such-answer', 'constructor'])('is not told for "%s"', async (hidden) => {
    const { call, post } = await startPageWorld();
    await call();
    expect(await post('/reveal', { hidden })).toMatchObject({ status: 404 });
  });
});

it('sends the page neither key nor signature', async () => {
  const { call, get, post, own } = await startPageWorld();
  const report = await call();
  const sent = [
    JSON.stringify(report),
    (await post('/reveal', { hidden: report.hidden })).body,
    (await post('/call', { ...CALL, caller: BILLING.secretAccessKey })).body,
    ...(await Promise.all(['/', '/page.js'].map(async (path) => (await get(path, own)).body))),
  ].join('\n');

  expect(sent).not.toContain(BILLING.secretAccessKey);
  expect(sent).not.toMatch(/Signature=[0-9a-f]/);
  expect(sent).toContain('Signature=(hidden)');
});
