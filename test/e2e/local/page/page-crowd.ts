import { onTestFinished } from 'vitest';
import { exampleConfig, roleArn } from '../../../../local/config.ts';
import { startTokenService } from '../../../../local/token-service/server.ts';
import { startBrokerHere } from '../../../support/processes/broker-here.ts';

const SERVICES = ['customer-insights', 'merchant-payment-cleansing', 'loyalty'];
/** In natural order, which is not the order of their letters. */
export const CLIENTS = Array.from({ length: 40 }, (_, index) => `client-${index + 1}`);

/** A broker with forty clients of three services. The caller `billing` may act for three of the clients. */
export async function startCrowd() {
  const credentials = Object.fromEntries(SERVICES.map((service) => [service, []]));
  const tokenService = await startTokenService({ credentials, acceptedSecret: /^good-/ });
  onTestFinished(tokenService.close);
  const { callers } = exampleConfig(String);
  const config = {
    services: Object.fromEntries(SERVICES.map((service) => [service, { authUrl: tokenService.authUrl(service) }])),
    accessRules: [
      { role: roleArn('billing'), clients: CLIENTS.slice(0, 3), services: 'all' },
      { role: roleArn('operator'), clients: 'all', services: 'all', operations: ['token', 'check'] },
    ],
    callers,
    credentials: Object.fromEntries(
      CLIENTS.toSorted().map((client) => [client, { client_id: client, secret: 'good-1', services: 'all' }]),
    ),
  };
  return { broker: await startBrokerHere(config), tokenService };
}
