import { randomBytes } from 'node:crypto';
import type { LocalCaller } from '../../lib/settings/local-config.ts';
import { LOCAL_ACCOUNT } from '../../lib/settings/names.ts';

/** The local callers of `npm start`; made-up keys that only this machine's stand-ins know. */
const CALLERS = [
  caller('billing', 'AKIDLOCALBILLING', 'local-billing-secret'),
  caller('reporting', 'AKIDLOCALREPORTING', 'local-reporting-secret'),
  caller('operator', 'AKIDLOCALOPERATOR', 'local-operator-secret'),
  caller('stranger', 'AKIDLOCALSTRANGER', 'local-stranger-secret'),
];

const services = ['customer-insights', 'merchant-payment-cleansing'];
const CREDENTIALS = {
  acme: { client_id: 'acme-id', secret: 'acme-local-secret', services },
  globex: { client_id: 'globex-id', secret: 'globex-local-secret', services },
  initech: { client_id: 'initech-id', secret: 'initech-local-secret', services },
};

/** The credentials that each service of the stand-in accepts; none accepts `initech`. */
export const ACCEPTED_CREDENTIALS = {
  'customer-insights': pick('acme', 'globex'),
  'merchant-payment-cleansing': pick('acme'),
} as const;

/** A secret that both services accept from any client id, to rehearse with: `good-1`, `good-2`, … */
export const ACCEPTED_SECRET = /^good-/;

/** The configuration that `npm start` runs without `--config`, in the form of such a file. */
export function exampleConfig(authUrl: (service: string) => string) {
  return {
    services: Object.fromEntries(
      Object.keys(ACCEPTED_CREDENTIALS).map((service) => [service, { authUrl: authUrl(service) }]),
    ),
    accessRules: [
      { role: roleArn('billing'), clients: ['acme', 'globex', 'initech'], services: 'all' },
      { role: roleArn('reporting'), clients: ['acme'], services: ['customer-insights'] },
      { role: roleArn('operator'), clients: 'all', services: 'all', operations: ['token', 'check'] },
    ],
    callers: CALLERS,
    credentials: CREDENTIALS,
  };
}

function caller(name: string, accessKeyId: string, secretAccessKey: string) {
  return { role: roleArn(name), accessKeyId, secretAccessKey };
}

/** The ARN of a role in the account of the stand-ins. */
export function roleArn(name: string): string {
  return `arn:aws:iam::${LOCAL_ACCOUNT}:role/${name}`;
}

function pick(...clients: (keyof typeof CREDENTIALS)[]) {
  return clients.map((client) => ({ client, ...CREDENTIALS[client] }));
}

/** A key for a role, another one at each start. */
export function randomKey(role: string): LocalCaller {
  const accessKeyId = `AKIDLOCAL${randomBytes(6).toString('hex').toUpperCase()}`;
  return { role, accessKeyId, secretAccessKey: randomBytes(30).toString('base64url') };
}

/** The names of the roles that the stack gives to its health function and to the probe. */
export const CHECKERS = { health: 'token-broker-health-local', probe: 'token-broker-probe-local' } as const;

/** Where the broker listens unless `PORT` says otherwise. */
export const DEFAULT_PORT = '8788';

/** Reads `PORT`; 0 stands for a free one. */
export function readPort(text = DEFAULT_PORT): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`PORT must be a port number, not "${text}"`);
}
