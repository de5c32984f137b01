import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { issuedToken } from '../../../client/answers.ts';

const TOKEN = issuedToken({
  accessToken: 'marked-access-token',
  tokenType: 'Bearer',
  expiresAt: 1_000,
  expirySource: 'response',
  fingerprint: '0123456789abcdef',
  scope: 'read',
  passThrough: { refresh_token: 'marked-refresh-token' },
});
const SHOWN = {
  accessToken: '[redacted]',
  tokenType: 'Bearer',
  expiresAt: 1_000,
  expirySource: 'response',
  fingerprint: '0123456789abcdef',
  scope: 'read',
};

it('gives the token to code that reads accessToken', () => {
  expect(TOKEN.accessToken).toBe('marked-access-token');
  expect(TOKEN.passThrough).toEqual({ refresh_token: 'marked-refresh-token' });
});

it('shows the other members in JSON', () => {
  expect(JSON.parse(JSON.stringify({ TOKEN }))).toEqual({ TOKEN: SHOWN });
});

it.each([
  ['a template', () => `${TOKEN}`],
  ['JSON', () => JSON.stringify([TOKEN])],
  ['inspection', () => inspect({ TOKEN }, { depth: 9 })],
  ['inspection without the custom function of the object', () => inspect(TOKEN, { customInspect: false })],
  ['a copy', () => inspect({ ...TOKEN })],
  ['a deep copy', () => inspect(structuredClone({ ...TOKEN }))],
  ['a list of its members', () => inspect(Object.entries(TOKEN))],
])('does not print the token in %s', (_, print) => {
  expect(print()).not.toContain('marked');
});

it.each([() => `${TOKEN}`, () => JSON.stringify(TOKEN), () => inspect(TOKEN)])(
  'prints [redacted] in place of the token',
  (print) => {
    expect(print()).toContain('[redacted]');
  },
);
