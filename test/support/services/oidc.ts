import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { vi } from 'vitest';
import { listen, stop } from '../../../bin/local/loopback.ts';

type Credential = { readonly client_id: string; readonly client_secret: string };

/** An OAuth server on loopback, at `/token`, that takes only `client_credentials` with HTTP Basic in the form dialect. */
export async function startOidcProvider({ clients }: { readonly clients: readonly Credential[] }) {
  const server = createServer();
  const url = `http://127.0.0.1:${await listen(server, 0)}`;

  // It warns that its keys and its memory are for development only, as they are here.
  const warnings = vi.spyOn(console, 'warn').mockReturnValue();
  const provider = new Provider(url, {
    clients: clients.map((client) => ({
      ...client,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_basic',
    })),
    ttl: { ClientCredentials: 600 },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  });
  warnings.mockRestore();
  server.on('request', provider.callback());

  return {
    url,
    /** The client id that a token was issued to. */
    issuedTo: async (token: string) => (await provider.ClientCredentials.find(token))?.clientId,
    close: () => stop(server),
  };
}
