// Asks the token broker for a token with its client, which signs, caches, renews and repeats; on Node 22 and newer.
//
// Usage: node with-client.mjs <client> <service> [URL of the service to be called with the token]
// Needs TOKEN_BROKER_URL, what the AWS SDK needs to find its credentials, and the package: docs/callers.md says how.
import { createTokenBroker, TokenBrokerError } from 'token-broker-client';

const [client, service, serviceUrl] = process.argv.slice(2);
if (service === undefined) {
  process.stderr.write('Usage: node with-client.mjs <client> <service> [URL of the service]\n');
  process.exit(2);
}
// A 401 of this URL's host means that the service turns the token away.
const services = serviceUrl === undefined ? {} : { [service]: [serviceUrl] };
const broker = createTokenBroker({ url: process.env.TOKEN_BROKER_URL ?? '', services });

try {
  const { fingerprint, expiresAt } = await broker.token({ client, service });
  process.stdout.write(`${fingerprint} lives until ${new Date(expiresAt).toISOString()}\n`);

  if (serviceUrl !== undefined) {
    // With `Authorization: Bearer`; a token that the service turns away is replaced, once.
    const { status } = await broker.fetch(serviceUrl, { method: 'GET' }, { client, service });
    process.stdout.write(`the service answered ${status}\n`);
  }
} catch (error) {
  if (!(error instanceof TokenBrokerError)) throw error;
  process.stderr.write(`${error.message}\n${error.advice ?? ''}\n`);
  process.exitCode = 1;
}
