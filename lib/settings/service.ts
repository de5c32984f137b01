import { z } from 'zod';
import { authUrlFault, pathFault } from './auth-url.ts';
import { ALWAYS, listOf, recordOf, text } from './schema.ts';

/** One service: how it is asked for a token and how its answer is read. Every default of a service stands here. */
export function serviceSchema({ allowLoopback }: { readonly allowLoopback: boolean }) {
  return z
    .strictObject({
      authUrl: text((url) => authUrlFault(url, { allowLoopback })),
      tokenPath: text(pathFault).default('/auth/v1/token'),
      basicEncoding: z.enum(['raw', 'form']).default('raw'),
      parameters: recordOf(parameterFault, z.string()).default({}),
      parametersIn: z.enum(['query', 'body']).default('query'),
      headers: recordOf(headerFault, text(headerValueFault)).superRefine(noNameTwice, ALWAYS).default({}),
      response: responseSchema.prefault({}),
      tokenLifetimeSeconds: lifetimeSeconds.optional(),
      assumedLifetimeSeconds: lifetimeSeconds.default(300),
      maxLifetimeSeconds: lifetimeSeconds.default(86_400),
      rejectedOn403: z.boolean().default(false),
      singleActiveToken: z.boolean().default(false),
      attemptTimeoutMs: timeoutMs.default(3_000),
      requestTimeoutMs: timeoutMs.default(4_000),
    })
    .superRefine(membersAgree, ALWAYS);
}

/** From what is still of use after a fifth for the margin and the longest request, to a month. */
const lifetimeSeconds = z.int().min(10).max(2_592_000);

/** In the 15 s of a call fit the lease of another one, which lasts 2 s longer than its request, and a request of its own. */
const timeoutMs = z.int().min(100).max(6_000);

/** The settings are no place for secrets, and a part of a credential differs between clients. */
function parameterFault(name: string): string | undefined {
  if (name === '') return 'must have a name';
  return /^(client_id|client_secret|client_assertion|username|password|secret)$/i.test(name)
    ? "belongs to a credential: it goes into the client's secret"
    : undefined;
}

function noNameTwice(headers: Readonly<Record<string, unknown>>, context: z.core.$RefinementCtx): void {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  for (const [index, name] of Object.keys(headers).entries()) {
    if (names.indexOf(name.toLowerCase()) < index) {
      context.addIssue({ code: 'custom', path: [name], message: 'is there twice, in different case' });
    }
  }
}

interface Service {
  readonly authUrl: unknown;
  readonly tokenPath: unknown;
  readonly tokenLifetimeSeconds?: unknown;
  readonly assumedLifetimeSeconds: unknown;
  readonly maxLifetimeSeconds: unknown;
  readonly attemptTimeoutMs: unknown;
  readonly requestTimeoutMs: unknown;
}

function membersAgree(service: Service, context: z.core.$RefinementCtx): void {
  const fault = (member: keyof Service, message: string) =>
    context.addIssue({ code: 'custom', path: [member], message });

  // The whole address is easily pasted, and would ask for /auth/v1/token/auth/v1/token.
  if (endsIn(service.authUrl, service.tokenPath)) {
    fault('authUrl', 'must not end in the tokenPath: the broker appends it');
  }
  for (const member of ['tokenLifetimeSeconds', 'assumedLifetimeSeconds'] as const) {
    if (exceeds(service[member], service.maxLifetimeSeconds)) fault(member, 'must not be more than maxLifetimeSeconds');
  }
  if (exceeds(service.attemptTimeoutMs, service.requestTimeoutMs)) {
    fault('attemptTimeoutMs', 'must not be more than requestTimeoutMs');
  }
}

function endsIn(url: unknown, path: unknown): boolean {
  return typeof url === 'string' && typeof path === 'string' && path.length > 1 && url.endsWith(path);
}

function exceeds(value: unknown, limit: unknown): boolean {
  return typeof value === 'number' && typeof limit === 'number' && value > limit;
}

/** How a service's answer is read; members are dotted paths such as `data.token`, and `$` is an answer that is all token. */
const responseSchema = z
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

/** Why a service's settings cannot have a header of this name. */
function headerFault(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is not a valid header name';
  return RESERVED.has(name.toLowerCase()) ? 'is set by the broker or by HTTP itself' : undefined;
}

/** Why a text cannot be the value of a header. */
function headerValueFault(value: string): string | undefined {
  return /^[!-~](?:[\t -~]*[!-~])?$/.test(value)
    ? undefined
    : 'must be visible ASCII characters, with white space only between them';
}

/** What would change who is asked, as whom, or where the request and its answer end. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
