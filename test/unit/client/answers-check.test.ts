import { describe, expect, it } from 'vitest';
import type { CheckOptions } from '../../../client/token-broker.ts';
import type { Finding, ProvenBy } from '../../../functions/contract.ts';
import { checked, problem } from './broker-answers.ts';
import { NOW, PAIR, startClientWorld } from './client-world.ts';
import { type Answer, answerWith } from './loopback-server.ts';

/** All words of the contract; this does not compile when one is missing. */
const FINDINGS = Object.keys({
  accepted: true,
  rejected: true,
  throttled: true,
  unreachable: true,
  misconfigured: true,
  'secret-missing': true,
  'secret-malformed': true,
  disabled: true,
} satisfies Record<Finding, true>);
const PROOFS = Object.keys({
  request: true,
  traffic: true,
  latch: true,
  pause: true,
  secret: true,
  operator: true,
} satisfies Record<ProvenBy, true>);

let server: Awaited<ReturnType<typeof startClientWorld>>['server'];

async function ask(answer: Answer, options: CheckOptions = PAIR) {
  const world = await startClientWorld(answer, { maxAttempts: 1 });
  server = world.server;
  return world.broker.check(options);
}

describe('asking for a check', () => {
  it('sends the pair and the current stage', async () => {
    await ask(answerWith(200, checked(PAIR)));
    const [request] = server.requests ?? [];
    expect(request).toMatchObject({ method: 'POST', url: '/check' });
    expect(JSON.parse(request?.body ?? '')).toEqual({ ...PAIR, stage: 'AWSCURRENT' });
  });

  it('sends another stage when it is asked for', async () => {
    const stage = 'AWSPENDING';
    expect(await ask(answerWith(200, checked({ ...PAIR, stage })), { ...PAIR, stage })).toMatchObject({ stage });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({ stage });
  });

  it("gives what the broker found, with the end of the token on this machine's clock", async () => {
    const members = { version: 'version-1', checked_at: '2026-11-01T09:00:00.000Z', expires_in: 120 };
    expect(await ask(answerWith(200, checked({ ...PAIR, ...members })))).toEqual({
      ...PAIR,
      stage: 'AWSCURRENT',
      finding: 'accepted',
      version: 'version-1',
      checkedAt: NOW - 3_600_000,
      provenBy: 'request',
      expiresAt: NOW + 120_000,
    });
  });

  it.each(PROOFS)('accepts "%s" as a proof', async (provenBy) => {
    expect(await ask(answerWith(200, checked({ ...PAIR, proven_by: provenBy })))).toMatchObject({ provenBy });
  });

  it.each(FINDINGS)('accepts the finding "%s" without a version and without an end of a token', async (finding) => {
    const check = await ask(answerWith(200, checked({ ...PAIR, finding, version: undefined })));
    expect(check).toMatchObject({ finding });
    expect(check).not.toHaveProperty('version');
    expect(check).not.toHaveProperty('expiresAt');
  });

  it('fails with the same error as a request for a token', async () => {
    await expect(ask(problem('secrets-unavailable', { 'retry-after': '1' }))).rejects.toMatchObject({
      name: 'TokenBrokerError',
      type: 'secrets-unavailable',
      retryAfterSeconds: 1,
    });
  });

  it.each([
    ['HTML', '<html>marked-answer</html>', /not a JSON object/],
    ['another client', checked({ ...PAIR, client: 'marked-answer' }), /client/],
    ['another service', checked({ ...PAIR, service: 'marked-answer' }), /service/],
    ['another stage', checked({ ...PAIR, stage: 'AWSPREVIOUS' }), /stage/],
    ['a new finding', checked({ ...PAIR, finding: 'marked-answer' }), /finding/],
    ['a finding that is a name of an object method', checked({ ...PAIR, finding: 'toString' }), /finding/],
    ['a version that steers the terminal', checked({ ...PAIR, version: 'marked-answer\u001b[2J' }), /version/],
    ['a time that is not a date', checked({ ...PAIR, checked_at: 'marked-answer' }), /checked_at/],
    ['a new kind of proof', checked({ ...PAIR, proven_by: 'marked-answer' }), /proven_by/],
    ['a negative life time', checked({ ...PAIR, expires_in: -1 }), /expires_in/],
  ])('refuses a 200 with %s, and does not quote the answer', async (_, body, message) => {
    const error = await ask(answerWith(200, body)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'TokenBrokerError', type: 'unexpected-answer', status: 200, retryable: false });
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(error).toHaveProperty('message', expect.not.stringContaining('marked'));
  });
});
