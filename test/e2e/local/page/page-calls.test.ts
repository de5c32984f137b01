import { expect, it } from 'vitest';
import { BILLING, CALL, startPageWorld, TOKEN, textOf } from './page-world.ts';

const DENIED = { type: 'access-denied', title: 'No', detail: 'No rule.', status: 403, retryable: false };
const ACCEPTED = { client: 'acme', service: 'customer-insights', stage: 'AWSCURRENT', finding: 'accepted' };

const bad = (word: string) => ({ word, kind: 'bad' });

it('a call is signed as the caller, and shows what was sent and what came back, with neither key, token nor signature', async () => {
  const { call, asked } = await startPageWorld();
  const report = await call({ min_ttl: 60 });

  expect(asked).toEqual(['{"client":"acme","service":"customer-insights","min_ttl":60}']);
  expect(report).toMatchObject({
    outcome: { word: 'issued', kind: 'good' },
    summary: expect.stringMatching(/^billing asked for acme on customer-insights, 200 in \d+ ms$/),
    fingerprint: '0123456789abcdef',
  });
  expect(textOf(report, 'request')).toMatch(
    /^POST \S+\/token\n.*Credential=AKIDBILLING\/.*Signature=\(hidden\).*"min_ttl": 60\n}$/s,
  );
  expect(textOf(report, 'answer')).toMatch(
    /^200 OK\n.*content-type: application\/json\n.*"fingerprint": "0123456789abcdef"\n}$/s,
  );
  const sent = JSON.stringify([report, await call({ caller: BILLING.secretAccessKey })]);
  for (const hidden of [TOKEN, BILLING.secretAccessKey]) expect(sent).not.toContain(hidden);
});

it.for<readonly [string, number, unknown, object, RegExp?]>([
  ['a problem', 403, DENIED, { word: 'access-denied', kind: 'refused' }, /^Ask the operators of the broker|whoami/],
  ['a stop', 424, { ...DENIED, type: 'client-disabled' }, bad('client-disabled'), /client enable acme ends it\.$/],
  ['what AWS says', 429, { message: 'Rate Exceeded.' }, bad('AWS answered 429')],
  ['what is no JSON', 502, '<html>', bad('AWS answered 502')],
  [
    'a finding',
    200,
    { ...ACCEPTED, finding: 'secret-malformed' },
    bad('secret-malformed'),
    /^If client check acme --stage AWSPREVIOUS .* client rollback acme: .* Store \S+\/acme again/,
  ],
])('a call shows %s as it is, with the advice of the command line', async ([_, status, body, outcome, advice]) => {
  const { call } = await startPageWorld({ status, body });
  const report = await call({ operation: 'check' });

  expect(report).toMatchObject({ outcome });
  expect(textOf(report, 'request')).toMatch(/^POST \S+\/check\n/);
  expect(textOf(report, 'answer')).toContain(typeof body === 'string' ? body : JSON.stringify(body, undefined, 2));
  expect(report.advice).toEqual(advice && expect.stringMatching(advice));
});

it('a call says so when the broker is gone', async () => {
  const { post, closeBroker } = await startPageWorld();
  await closeBroker();
  expect(await post(CALL)).toMatchObject({ status: 502, body: '{"message":"The broker did not answer."}' });
});

it.each([
  ['in a member that a service is set to hand on', { access_token: 'a', refresh: { deep: [TOKEN] } }],
  ['in an answer that is no object', [TOKEN]],
])('a token comes to the page only where the call asks for it: %s', async (_, body) => {
  const { call } = await startPageWorld({ body });

  expect(JSON.stringify(await call())).not.toContain(TOKEN);
  expect(textOf(await call({ reveal: true }), 'answer')).toContain(TOKEN);
});

it.each([
  ['deleted', 'The secret is deleted.', 'client disable acme'],
  ['disabled', 'The client is disabled.', undefined],
] as const)('a call says why a token of a %s client still comes', async (state, reason, command) => {
  const { call } = await startPageWorld({ state });
  const { advice, advised } = await call();
  expect(advice).toContain(reason);
  expect(advised[0]?.name).toBe(command);
  // Another client has its own state.
  expect((await call({ client: 'globex' })).advice).toBeUndefined();
});
