import { randomBytes } from 'node:crypto';
import type { LocalCaller } from '../lib/settings/local-config.ts';
import { LOCAL_ACCOUNT } from '../lib/settings/names.ts';

/** The local callers of `npm start`. Their keys are made up and only valid for this machine's stand-ins. */
const CALLERS = ['billing', 'reporting', 'operator', 'stranger'].map((name) => ({
  role: roleArn(name),
  accessKeyId: `AKIDLOCAL${name.toUpperCase()}`,
  secretAccessKey: `local-${name}-secret`,
}));

const SERVICES = ['customer-insights', 'merchant-payment-cleansing'];

/** An incident needs five pairs of a service that were asked, and a latched pair is not asked. */
const CLIENTS = ['acme', 'globex', 'initech', 'soylent', 'tyrell', 'umbrella', 'wonka'];

/** The credentials that each service of the stand-in accepts. No service accepts `initech`. */
export const ACCEPTED_CREDENTIALS = {
  'customer-insights': credentialsWithout('initech'),
  'merchant-payment-cleansing': credentialsWithout('initech', 'globex'),
};

/** Matches secrets for rehearsals, which both services accept with any client id: `good-1`, `good-2`, … */
export const ACCEPTED_SECRET = /^good-/;

/** Returns the configuration of `npm start` without `--config`, in the form of a `--config` file. */
export function exampleConfig(authUrl: (service: string) => string) {
  return {
    services: Object.fromEntries(SERVICES.map((service) => [service, { authUrl: authUrl(service) }])),
    accessRules: [
      { role: roleArn('billing'), clients: ['acme', 'globex', 'initech'], services: 'all' },
      { role: roleArn('reporting'), clients: ['acme'], services: ['customer-insights'] },
      { role: roleArn('operator'), clients: 'all', services: 'all', operations: ['token', 'check'] },
    ],
    callers: CALLERS,
    credentials: Object.fromEntries(CLIENTS.map((client) => [client, { ...credentialOf(client), services: SERVICES }])),
  };
}

/** Returns the ARN of a role in the account of the stand-ins. */
export function roleArn(name: string): string {
  return `arn:aws:iam::${LOCAL_ACCOUNT}:role/${name}`;
}

function credentialOf(client: string) {
  return { client_id: `${client}-id`, secret: `${client}-local-secret` };
}

function credentialsWithout(...refused: readonly string[]) {
  const accepted = CLIENTS.filter((client) => !refused.includes(client));
  return accepted.map((client) => ({ client, ...credentialOf(client) }));
}

/** Returns a random key for a role. */
export function randomKey(role: string): LocalCaller {
  const accessKeyId = `AKIDLOCAL${randomBytes(6).toString('hex').toUpperCase()}`;
  return { role, accessKeyId, secretAccessKey: randomBytes(30).toString('base64url') };
}

/** The role names of the stack's health function and its probe. */
export const CHECKERS = { health: 'token-broker-health-local', probe: 'token-broker-probe-local' } as const;

/** The port of the broker unless `PORT` is set. */
export const DEFAULT_PORT = '8788';

/** Parses `PORT`. The value 0 means any free port. */
export function readPort(text = DEFAULT_PORT): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`PORT must be a port number, not "${text}"`);
}
