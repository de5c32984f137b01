import { z } from 'zod';
import { authUrlFault, pathFault } from './auth-url.ts';
import { headerFault, headerValueFault } from './header.ts';
import { responseSchema } from './response-schema.ts';
import { ALWAYS, recordOf, text } from './schema.ts';

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
