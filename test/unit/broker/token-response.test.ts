import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../functions/broker/problem.ts';
import { readTokenResponse, type TokenResponseReading } from '../../../functions/broker/token-response/read.ts';
import { type Answer, CREDENTIAL, RECEIVED_AFTER_MS, responseOf, serviceOf } from './token-responses/answer.ts';
import { badAnswers } from './token-responses/bad-answers.ts';
import { goodAnswers } from './token-responses/good-answers.ts';
import { otherStatuses } from './token-responses/other-statuses.ts';

const STARTED_AT = Date.UTC(2026, 10, 21, 12);
const TIMES = { requestStartedAt: STARTED_AT, receivedAt: STARTED_AT + RECEIVED_AFTER_MS };

describe('reading a good answer', () => {
  it.each(goodAnswers(STARTED_AT))('finds the token and its life time: $name', (answer) => {
    const reading = read(answer);

    if (reading.outcome !== 'token') return expect.fail(explain(reading));
    const { accessToken, ...rest } = reading.token;
    expect(accessToken.reveal()).toBe(answer.token);
    expect(rest).toEqual({
      tokenType: answer.tokenType ?? 'Bearer',
      expiresAt: STARTED_AT + answer.lives,
      expirySource: answer.source,
      scope: answer.scope,
      passThrough: answer.passThrough ?? {},
    });
  });
});

describe('a member beside the token that holds the token', () => {
  const token = 'marked-token';

  it.each([
    ['token_type', { token_type: token }, { tokenType: 'Bearer' }],
    ['token_type, within a word', { token_type: `x-${token}` }, { tokenType: 'Bearer' }],
    ['scope', { scope: `read ${token}` }, { scope: undefined }],
    ['scope, as a list', { scope: ['read', token] }, { scope: undefined }],
    ['a member to be passed on', { instance: { a: [token] } }, { passThrough: {} }],
  ])('is not told: %s', (name, members, expected) => {
    const body = JSON.stringify({ access_token: token, ...members });
    const reading = read({ name, body, settings: { response: { passThrough: ['instance'] } } });
    expect(reading).toMatchObject({ outcome: 'token', token: expected });
  });
});

describe('a member to be passed on', () => {
  const passed = (member: string, members: string) => {
    const body = `{"token":"marked-token","info":{"region":"eu",${members}}}`;
    const reading = read({
      name: member,
      body,
      settings: { response: { tokenMember: 'token', passThrough: [member] } },
    });
    return reading.outcome === 'token' ? reading.token.passThrough : expect.fail(explain(reading));
  };

  it.each([
    ...['csrf_token', 'jwt', 'jwt_assertion', 'refresh', 'refreshed', 'bearer', 'Authorization'],
    ...['client_secret', 'secret_word', 'password', 'old_passwords', `${'a'.repeat(60)}_token`, 'a'.repeat(65)],
  ])('stays here when its name says that it is secret or is too long, alone or in an object: %s', (name) => {
    expect(passed(`info.${name}`, `"${name}":"x"`)).toEqual({});
    expect(passed('info', `"${name}":"x"`)).toEqual({});
  });

  it.each([
    ...['token_kind', 'uses_jwt', 'may_refresh', 'bearer_kind', 'for_bearer', 'authorization_url', 'pre_authorization'],
    ...['_', 'a'.repeat(64)],
  ])('is passed on when its name only speaks of secrets, or of none: %s', (name) => {
    expect(passed(`info.${name}`, `"${name}":"x"`)).toEqual({ [`info.${name}`]: 'x' });
  });

  it.each([
    ['null', null],
    ['false', false],
    ['1.5', 1.5],
    [`"${'a'.repeat(4_094)}"`, 'a'.repeat(4_094)],
  ])('is passed on as it is (%#)', (json, value) => {
    expect(passed('info.some', `"some":${json}`)).toEqual({ 'info.some': value });
  });

  it.each(['1e999', `"${'a'.repeat(4_095)}"`])('stays here when JSON could not hold it, or should not (%#)', (json) => {
    expect(passed('info.some', `"some":${json}`)).toEqual({});
  });
});

describe('reading a bad answer', () => {
  it.each(badAnswers(STARTED_AT))('says what is wrong: $name', (answer) => {
    expect(read(answer).outcome).toBe('held');
    const { type, detail, shape } = problemOf(answer);

    expect(type).toBe('token-response-unusable');
    expect(detail).toContain(answer.says);
    expect(shape).toMatchObject({ status: answer.status ?? 200, bytes: responseOf(answer).body.length });
  });
});

describe('reading an answer that is no success', () => {
  it.each(otherStatuses(STARTED_AT + RECEIVED_AFTER_MS).filter(({ outcome }) => outcome === 'rejected'))(
    'takes the credential for rejected: $name',
    (answer) => {
      expect(read(answer)).toEqual({ outcome: 'rejected' });
    },
  );

  it.each(otherStatuses(STARTED_AT + RECEIVED_AFTER_MS).filter(({ outcome }) => outcome !== 'rejected'))(
    'says what an operator should look at, or when to come back: $name',
    (answer) => {
      const { type, detail, retryAfterSeconds, shape } = problemOf(answer);

      expect([read(answer).outcome, type]).toEqual([answer.outcome, answer.problem]);
      expect(shape?.status).toBe(answer.status);
      expect(detail).toContain(answer.says ?? '');
      expect(retryAfterSeconds).toBe(answer.retryAfterSeconds);
    },
  );
});

describe('the outcome of an answer', () => {
  it.each([400, 402, 403, 404, 407, 409, 421, 422, 499])(
    '%i holds the version back: asking again does not help',
    (status) => {
      expect(read({ name: '', status, body: '{}' }).outcome).toBe('held');
    },
  );

  it.each([100, 199, 300, 304, 399, 408, 429, 500, 503, 599, 600])('%i says nothing of the version', (status) => {
    expect(read({ name: '', status, body: '{}' }).outcome).toBe('failed');
  });

  it('200 with an error holds the version back', () => {
    expect(read({ name: '', body: '{"error":"invalid_client"}' }).outcome).toBe('held');
  });
});

describe('the problem of an answer', () => {
  it.each([
    ...badAnswers(STARTED_AT),
    ...otherStatuses(STARTED_AT).filter(({ outcome }) => outcome !== 'rejected'),
    ...goodAnswers(STARTED_AT).map((answer) => ({ ...answer, status: 404 })),
    ...goodAnswers(STARTED_AT).map((answer) => ({ ...answer, settings: { response: { tokenMember: 'absent' } } })),
  ])('holds no value of the answer: $name', (answer) => {
    const printed = printedFormOf(problemOf(answer));

    expect(printed).not.toMatch(/leak/i);
    for (const text of textsOf(answer)) expect(printed).not.toContain(text);
  });
});

function read(answer: Answer): TokenResponseReading {
  return readTokenResponse(responseOf(answer), TIMES, serviceOf(answer), CREDENTIAL);
}

function problemOf(answer: Answer): Problem {
  const reading = read(answer);
  return 'problem' in reading ? reading.problem : expect.fail(explain(reading));
}

function explain(reading: TokenResponseReading): string {
  return 'problem' in reading ? reading.problem.message : reading.outcome;
}

function printedFormOf({ message, detail, shape, cause }: Problem): string {
  return JSON.stringify([message, detail, shape, String(cause)]);
}

/** Words of the answers that the broker says on its own account. */
const OWN_WORDS = ['Bearer', 'bearer', 'BEARER', 'invalid_client', 'invalid_request', 'invalid_grant', 'invalid_scope'];
const OWN_ERRORS = ['unsupported_grant_type', 'unauthorized_client'];

function textsOf({ body }: Answer): readonly string[] {
  const texts: string[] = [];
  try {
    JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body), (_, value: unknown) => {
      if (typeof value === 'string' && value.length >= 4) texts.push(value);
      return value;
    });
  } catch {
    if (typeof body === 'string' && body.length >= 4) texts.push(body.trim());
  }
  return texts.filter((text) => ![...OWN_WORDS, ...OWN_ERRORS].includes(text));
}
