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

/** Which of the clients' credentials each service of the stand-in accepts; nobody accepts `initech`. */
export const ACCEPTED_CREDENTIALS = {
  'customer-insights': pick('acme', 'globex'),
  'merchant-payment-cleansing': pick('acme'),
} as const;

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
