import { z } from 'zod';
import { ALWAYS, listOf, text } from './schema.ts';

/** How a service's answer is read; members are dotted paths such as `data.token`, and `$` is an answer that is all token. */
export const responseSchema = z
  .strictObject({
    tokenMember: text(memberFault).optional(),
    lifetimeMember: text(memberFault).optional(),
    lifetimeUnit: z.enum(['seconds', 'milliseconds']).default('seconds'),
    passThrough: listOf(text(passThroughFault)).default([]),
  })
  .superRefine(tokenStaysIn, ALWAYS);

function memberFault(path: string): string | undefined {
  const isPath = path === path.trim() && !/\p{Cc}/u.test(path) && path.split('.').every((name) => name !== '');
  return isPath ? undefined : 'must be the name of a member, or names joined by dots such as data.token';
}

function passThroughFault(path: string): string | undefined {
  if (OWN_MEMBERS.has(path)) return 'is a member that the broker itself answers with';
  if (path === '$' || /token|jwt|session|secret|password|credential|assertion/i.test(path)) {
    return 'may hold a token or a secret, which must not pass';
  }
  return memberFault(path);
}

const OWN_MEMBERS: ReadonlySet<string> = new Set([
  'access_token',
  'token_type',
  'expires_in',
  'expires_at',
  'expiry_source',
  'fingerprint',
  'scope',
]);

interface Response {
  readonly tokenMember?: unknown;
  readonly passThrough: unknown;
}

function tokenStaysIn({ tokenMember, passThrough }: Response, context: z.core.$RefinementCtx): void {
  if (typeof tokenMember !== 'string' || !Array.isArray(passThrough)) return;
  for (const [index, path] of passThrough.entries()) {
    if (`${tokenMember}.`.startsWith(`${path}.`)) {
      context.addIssue({ code: 'custom', path: ['passThrough', index], message: 'holds the token (see tokenMember)' });
    }
  }
}
