import { z } from 'zod';
import { pathFault, serviceUrlFault } from '../../functions/service-url.ts';
import { CLIENT_ID } from '../../functions/vocabulary.ts';
import { certificateFault } from './certificates.ts';
import { like, listOf, recordOf, text } from './schema.ts';

export interface SettingsPlace {
  /** Whether a service may run on this machine, over http. */
  readonly allowLoopback: boolean;
  /** The folder of the files that the settings name. */
  readonly folder: string;
}

/** The schema of a service, with all its defaults: how to request a token and how to read the answer. */
export function serviceSchema({ allowLoopback, folder }: SettingsPlace) {
  return z
    .strictObject({
      authUrl: text((url) => serviceUrlFault(url, { allowLoopback })),
      tokenPath: text(tokenPathFault).default('/auth/v1/token'),
      basicEncoding: z.enum(['raw', 'form']).default('raw'),
      // A value may be {client_id}, which stands for the client id of each client.
      parameters: recordOf(parameterFault, z.string()).default({}),
      parametersIn: z.enum(['query', 'body', 'json']).default('query'),
      headers: recordOf(headerFault, like(HEADER_VALUE, HEADER_VALUE_REASON)).default({}),
      // The names of headers that each client has a value of its own for, in its secret.
      clientHeaders: listOf(text(clientHeaderFault), (name) => name.toLowerCase()).default([]),
      response: responseSchema.prefault({}),
      tokenLifetimeSeconds: lifetimeSeconds.optional(),
      assumedLifetimeSeconds: lifetimeSeconds.default(300),
      maxLifetimeSeconds: lifetimeSeconds.default(86_400),
      rejectedOn403: z.boolean().default(false),
      // More values of the member `error` that reject a credential, such as 'incorrect_client_credentials'.
      rejectedOn: listOf(like(ERROR, 'must be one word, the whole member error of an answer')).default([]),
      singleActiveToken: z.boolean().default(false),
      requestTimeoutMs: timeoutMs.default(4_000),
      // Files in PEM, such as 'ca/insights.pem'. They replace the public authorities for this service.
      certificateAuthorities: listOf(text((path) => certificateFault(folder, path))).default([]),
    })
    .superRefine((service, context) => {
      const { authUrl, tokenPath, maxLifetimeSeconds, headers, clientHeaders } = service;
      const fault = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
      // A pasted address with the path would lead to /auth/v1/token/auth/v1/token.
      if (tokenPath !== '/' && authUrl.endsWith(tokenPath)) {
        fault('authUrl', 'must not end in the tokenPath: the broker appends it');
      }
      const set = Object.keys(headers).map((name) => name.toLowerCase());
      if (clientHeaders.some((name) => set.includes(name.toLowerCase()))) {
        fault('clientHeaders', 'must not name a header that headers contains');
      }
      for (const member of ['tokenLifetimeSeconds', 'assumedLifetimeSeconds'] as const) {
        if ((service[member] ?? 0) > maxLifetimeSeconds) fault(member, 'must not be more than maxLifetimeSeconds');
      }
    });
}

const LIFETIME_MEMBER = 'must be the name of a member, or false';

/** The minimum leaves a usable token after its margin of a fifth and the longest request. The maximum is 30 days. */
const lifetimeSeconds = z.int().min(10).max(2_592_000);

/** The maximum lets 15 s suffice for another call's lease, 2 s longer than its request, and for a second request. */
const timeoutMs = z.int().min(100).max(6_000);

/** Returns why a text is not a path with an optional query, in which a credential has no place. */
function tokenPathFault(written: string): string | undefined {
  const [path = '', query] = written.split(/\?(.*)/s, 2);
  const fault = pathFault(path);
  if (fault !== undefined || query === undefined) return fault;
  if (!/^(?:[A-Za-z0-9/._~:@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})+$/.test(query)) {
    return 'must have letters, digits, signs of URLs and %XX after the question mark';
  }
  const names = [...new URLSearchParams(query).keys()];
  return names.map((name) => parameterFault(name)).find((one) => one !== undefined);
}

/** Rejects members of a credential, which are secret and differ between clients. Only a client id has a placeholder. */
function parameterFault(name: string, value = ''): string | undefined {
  if (name === '') return 'must have a name';
  const isOfClient = /^(?:client_id|username)$/i.test(name) && value === CLIENT_ID;
  if (/^(client_id|client_secret|client_assertion|username|password|secret)$/i.test(name) && !isOfClient) {
    return "belongs to a credential: it goes into the client's secret";
  }
  return PLACEHOLDER.test(value) && value !== CLIENT_ID ? `must be a text, or ${CLIENT_ID} alone` : undefined;
}

const PLACEHOLDER = /^\{\w+\}$|\{client_id\}/i;

/** The members of a service's answer, as dotted paths such as `data.token`. `$` is the whole answer. */
const responseSchema = z
  .strictObject({
    tokenMember: text(memberFault).optional(),
    tokenHeader: text(tokenHeaderFault).optional(),
    // false: no member and no header contains the life time.
    lifetimeMember: z.union([z.literal(false), text(memberFault)], { error: LIFETIME_MEMBER }).optional(),
    lifetimeUnit: z.enum(['seconds', 'milliseconds']).default('seconds'),
    passThrough: listOf(text(passThroughFault)).default([]),
  })
  .superRefine(({ tokenMember, tokenHeader, passThrough }, context) => {
    if (tokenMember !== undefined && tokenHeader !== undefined) {
      context.addIssue({ code: 'custom', path: ['tokenHeader'], message: 'must not stand beside tokenMember' });
    }
    const message = 'contains the token (see tokenMember)';
    for (const [index, path] of passThrough.entries()) {
      const holdsToken = tokenMember === path || tokenMember?.startsWith(`${path}.`);
      if (holdsToken) context.addIssue({ code: 'custom', path: ['passThrough', index], message });
    }
  });

function memberFault(path: string): string | undefined {
  if (path.split('.').includes('__proto__')) return 'is not a name of a member';
  const isPath = path === path.trim() && !/\p{Cc}|^\$\.|\[/u.test(path) && path.split('.').every((name) => name !== '');
  return isPath ? undefined : 'must be the name of a member, or names joined by dots such as data.token';
}

function passThroughFault(path: string): string | undefined {
  if (OWN_MEMBERS.includes(path)) return 'is a member of the answers of the broker itself';
  if (path === '$' || /token|jwt|session|secret|password|credential|assertion/i.test(path)) {
    return 'may contain a token or a secret, which must not be passed through';
  }
  return memberFault(path);
}

const OWN_MEMBERS = ['access_token', 'token_type', 'expires_in', 'expires_at', 'expiry_source', 'fingerprint', 'scope'];

/** Returns why a service's settings cannot contain a header of this name. */
function headerFault(name: string, value = ''): string | undefined {
  if (!HEADER_NAME.test(name)) return 'is not a valid header name';
  if (BY_BROKER.test(name) || BY_HTTP.test(name)) return 'is set by the broker or by HTTP itself';
  return PLACEHOLDER.test(value) ? 'must be a text: clientHeaders name the headers of each client' : undefined;
}

/** Returns why a client's secret cannot contain a header of this name. */
function clientHeaderFault(name: string): string | undefined {
  if (/^(?:accept|user-agent)$/i.test(name)) return 'is set by the broker or by HTTP itself';
  return SECRET_MEMBERS.test(name) ? "is a member of the client's secret" : headerFault(name);
}

/** The members of a client's secret, which rotation tools and the issuer of a credential write too. */
const SECRET_MEMBERS = /^(?:client_id|username|secret|client_secret|password|services|client_secret_expires_at)$/i;

function tokenHeaderFault(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return 'is not a valid header name';
  return /^set-cookie2?$/i.test(name) ? 'must not be a cookie' : undefined;
}

/** Allows the characters of RFC 6749 §5.2. */
const ERROR = /^[!#-[\]-~]{1,64}$/;

const HEADER_VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;
const HEADER_VALUE_REASON = 'must be visible ASCII characters, with white space only between them';
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that would change the host, the credential, or the framing of the request or its answer. */
const BY_BROKER = /^(?:accept-encoding|authorization|content-(?:encoding|length|type)|cookie|expect|host)$/i;
const BY_HTTP = /^(?:connection|keep-alive|proxy-(?:authorization|connection)|te|trailer|transfer-encoding|upgrade)$/i;
