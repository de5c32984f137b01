import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { vi } from 'vitest';

export interface OidcProvider {
  /** Its token endpoint is `/token`. */
  readonly url: string;
  /** The client id that a token was issued to. */
  readonly issuedTo: (token: string) => Promise<string | undefined>;
  readonly close: () => Promise<void>;
}

interface Options {
  readonly clients: readonly { readonly client_id: string; readonly client_secret: string }[];
}

/** An OAuth server on loopback that takes only `client_credentials` with HTTP Basic in the form dialect. */
export async function startOidcProvider({ clients }: Options): Promise<OidcProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const url = `http://127.0.0.1:${address.port}`;

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
    issuedTo: async (token) => (await provider.ClientCredentials.find(token))?.clientId,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
