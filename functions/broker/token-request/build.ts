import { basicAuthorization } from '../credential/basic-authorization.ts';
import type { Credential } from '../credential/credential.ts';
import type { Service } from '../service.ts';
import type { HttpRequest } from './send.ts';

/**
 * The token request of a service, authenticated with a credential.
 *
 * @throws Problem `credential-malformed` when the credential does not fit the service's Basic dialect
 */
export function buildTokenRequest(service: Service, credential: Credential): HttpRequest {
  const parameters = new URLSearchParams(service.parameters).toString();
  const body = service.parametersIn === 'body' ? parameters : '';
  // In a query not everybody reads a plus as a space.
  const query = service.parametersIn === 'query' ? parameters.replaceAll('+', '%20') : '';
  return {
    method: 'POST',
    url: tokenEndpoint(service, query),
    headers: {
      accept: 'application/json',
      'user-agent': 'token-broker',
      ...(body !== '' && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...lowerCaseNames(service.headers),
      // Last, because no setting may change what the broker relies on.
      authorization: basicAuthorization(credential, service.basicEncoding),
      'accept-encoding': 'identity',
      // Form-encoded text is ASCII, so characters are bytes.
      'content-length': String(body.length),
    },
    body,
  };
}

/** Set as a path, never joined as text: whatever `tokenPath` says, the host stays the one of `authUrl`. */
function tokenEndpoint({ authUrl, tokenPath }: Service, query: string): URL {
  const url = new URL(authUrl);
  url.pathname = url.pathname.replace(/\/$/, '') + tokenPath;
  url.search = query;
  return url;
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
