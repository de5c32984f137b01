import { randomBytes } from 'node:crypto';
import type { LocalCaller } from '../../lib/settings/local-config.ts';
import { MAX_PORT } from './loopback.ts';

/** The local callers of `npm start`; made-up keys that only this machine's Function URL stand-in knows. */
const CALLERS = [
  caller('billing', 'AKIDLOCALBILLING', 'local-billing-secret'),
  caller('reporting', 'AKIDLOCALREPORTING', 'local-reporting-secret'),
  caller('operator', 'AKIDLOCALOPERATOR', 'local-operator-secret'),
  caller('stranger', 'AKIDLOCALSTRANGER', 'local-stranger-secret'),
];

const CREDENTIALS = {
  acme: { client_id: 'acme-id', secret: 'acme-local-secret' },
  globex: { client_id: 'globex-id', secret: 'globex-local-secret' },
  initech: { client_id: 'initech-id', secret: 'initech-local-secret' },
};

/** Which of the clients' credentials each service of the stand-in accepts; none accepts `initech`. */
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

function roleArn(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}

function pick(...clients: (keyof typeof CREDENTIALS)[]) {
  return clients.map((client) => ({ client, ...CREDENTIALS[client] }));
}

/** A key for a role, another one at each start. */
export function randomKey(role: string): LocalCaller {
  const accessKeyId = `AKIDLOCAL${randomBytes(6).toString('hex').toUpperCase()}`;
  return { role, accessKeyId, secretAccessKey: randomBytes(30).toString('base64url') };
}

/** The environment's name: a client's secret is `token-broker/local/<client>`. */
export const LOCAL_ENVIRONMENT = 'local';

/** Where the broker listens unless `PORT` says otherwise. */
export const DEFAULT_PORT = '8788';

/** Where `npm start` listens; 0 stands for a free port. */
export interface Ports {
  readonly port: number;
  readonly pagePort: number;
  /** Whether the page may listen elsewhere when its port is taken: `PAGE_PORT` is not set. */
  readonly pageMayMove: boolean;
}

/** Reads `PORT` and `PAGE_PORT`: without the second the page is beside the broker. */
export function readPorts({ PORT, PAGE_PORT }: Readonly<Record<string, string | undefined>>): Ports {
  const port = parsePort('PORT', PORT ?? DEFAULT_PORT);
  const pagePort = PAGE_PORT === undefined ? portBeside(port, 1) : parsePort('PAGE_PORT', PAGE_PORT);
  return { port, pagePort, pageMayMove: PAGE_PORT === undefined };
}

function parsePort(variable: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw new Error(`${variable} must be a port number, not "${text}"`);
}

/** Where a stand-in should listen, so that variables once pasted hold when the broker is started again. */
export function portBeside(port: number, offset: number): number {
  return port === 0 ? 0 : port + offset;
}

/** Says that a server listens elsewhere than on the port that was wanted. */
export function movedText(name: string, wanted: number, url: string): readonly string[] {
  if (wanted === 0 || url.endsWith(`:${wanted}`)) return [];
  const reason = wanted > MAX_PORT ? `there is no port ${wanted}` : `port ${wanted} is taken`;
  return [`The address of ${name} is ${url}, because ${reason}.`];
}
