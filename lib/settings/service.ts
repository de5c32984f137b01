import { z } from 'zod';
import { pathFault, serviceUrlFault } from '../../functions/service-url.ts';
import { certificateFault } from './certificates.ts';
import { listOf, recordOf, text } from './schema.ts';

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
      tokenPath: text(pathFault).default('/auth/v1/token'),
      basicEncoding: z.enum(['raw', 'form']).default('raw'),
      parameters: recordOf(parameterFault, z.string()).default({}),
      parametersIn: z.enum(['query', 'body']).default('query'),
      headers: recordOf(headerFault, text(headerValueFault)).default({}),
      response: responseSchema.prefault({}),
      tokenLifetimeSeconds: lifetimeSeconds.optional(),
      assumedLifetimeSeconds: lifetimeSeconds.default(300),
      maxLifetimeSeconds: lifetimeSeconds.default(86_400),
      rejectedOn403: z.boolean().default(false),
      singleActiveToken: z.boolean().default(false),
      requestTimeoutMs: timeoutMs.default(4_000),
      // Files in PEM, such as 'ca/insights.pem'. They replace the public authorities for this service.
      certificateAuthorities: listOf(text((path) => certificateFault(folder, path))).default([]),
    })
    .superRefine((service, context) => {
      const { authUrl, tokenPath, maxLifetimeSeconds } = service;
      const fault = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
      // A pasted address with the path would lead to /auth/v1/token/auth/v1/token.
      if (tokenPath !== '/' && authUrl.endsWith(tokenPath)) {
        fault('authUrl', 'must not end in the tokenPath: the broker appends it');
      }
      for (const member of ['tokenLifetimeSeconds', 'assumedLifetimeSeconds'] as const) {
        if ((service[member] ?? 0) > maxLifetimeSeconds) fault(member, 'must not be more than maxLifetimeSeconds');
      }
    });
}

/** The minimum leaves a usable token after its margin of a fifth and the longest request. The maximum is 30 days. */
const lifetimeSeconds = z.int().min(10).max(2_592_000);

/** The maximum lets 15 s suffice for another call's lease, 2 s longer than its request, and for a second request. */
const timeoutMs = z.int().min(100).max(6_000);

/** Rejects members of a credential, which are secret and differ between clients. */
function parameterFault(name: string): string | undefined {
  if (name === '') return 'must have a name';
  return /^(client_id|client_secret|client_assertion|username|password|secret)$/i.test(name)
    ? "belongs to a credential: it goes into the client's secret"
    : undefined;
}

/** The members of a service's answer, as dotted paths such as `data.token`. `$` is the whole answer. */
const responseSchema = z
  .strictObject({
    tokenMember: text(memberFault).optional(),
    lifetimeMember: text(memberFault).optional(),
    lifetimeUnit: z.enum(['seconds', 'milliseconds']).default('seconds'),
    passThrough: listOf(text(passThroughFault)).default([]),
  })
  .superRefine(({ tokenMember, passThrough }, context) => {
    const message = 'contains the token (see tokenMember)';
    for (const [index, path] of passThrough.entries()) {
      const holdsToken = tokenMember === path || tokenMember?.startsWith(`${path}.`);
      if (holdsToken) context.addIssue({ code: 'custom', path: ['passThrough', index], message });
    }
  });

function memberFault(path: string): string | undefined {
  if (path.split('.').includes('__proto__')) return 'is not a name of a member';
  const isPath = path === path.trim() && !/\p{Cc}/u.test(path) && path.split('.').every((name) => name !== '');
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
function headerFault(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is not a valid header name';
  return BY_BROKER.test(name) || BY_HTTP.test(name) ? 'is set by the broker or by HTTP itself' : undefined;
}

/** Returns why a text cannot be the value of a header. */
function headerValueFault(value: string): string | undefined {
  return /^[!-~](?:[\t -~]*[!-~])?$/.test(value)
    ? undefined
    : 'must be visible ASCII characters, with white space only between them';
}

/** Headers that would change the host, the credential, or the framing of the request or its answer. */
const BY_BROKER = /^(?:accept-encoding|authorization|content-(?:encoding|length|type)|cookie|expect|host)$/i;
const BY_HTTP = /^(?:connection|keep-alive|proxy-(?:authorization|connection)|te|trailer|transfer-encoding|upgrade)$/i;
