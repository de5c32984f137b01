import { randomBytes } from 'node:crypto';
import type { ClientName, Pair, ServiceName } from '../../functions/broker/pair.ts';

/** A client's credential, as in the client's secret. */
export interface AcceptedCredential {
  readonly client: ClientName;
  readonly client_id: string;
  readonly secret: string;
}

interface Options {
  readonly credentials: Readonly<Record<ServiceName, readonly AcceptedCredential[]>>;
  readonly acceptedSecret: RegExp | undefined;
  readonly lifetimeSeconds: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Checks credentials and stores the tokens issued for them in memory. */
export function createTokenIssuer({ credentials, acceptedSecret, lifetimeSeconds, now }: Options) {
  const tokens = new Map<string, Pair & { readonly expiresAt: number }>();
  const everyCredential = Object.values(credentials).flat();

  return {
    /** Returns the client, even of a rejected credential if its id is known. `ok` means that the service accepts it. */
    authenticate(service: ServiceName, authorization: string | undefined) {
      const [clientId, secret = ''] = parseBasic(authorization);
      const accepted = credentials[service]?.find((pair) => pair.client_id === clientId && pair.secret === secret);
      const client = everyCredential.find(({ client_id }) => client_id === clientId)?.client;
      const isAccepted = acceptedSecret?.test(secret) ?? false;
      return { client: client ?? (isAccepted ? clientId : undefined), ok: isAccepted || accepted !== undefined };
    },
    /** Returns a new token. */
    issue({ service, client }: Pair): string {
      const token = randomBytes(32).toString('base64url');
      tokens.set(token, { service, client, expiresAt: now() + lifetimeSeconds * 1_000 });
      return token;
    },
    /** Returns the client of a token that this service accepts. */
    ownerOf(service: ServiceName, authorization = ''): ClientName | undefined {
      const token = tokens.get(authorization.replace(/^Bearer /, ''));
      return token?.service === service && now() < token.expiresAt ? token.client : undefined;
    },
    /** Revokes every token of the service so far. */
    revoke(service: ServiceName): void {
      for (const [token, of] of tokens) if (of.service === service) tokens.set(token, { ...of, expiresAt: 0 });
    },
    issued: (token: string): boolean => tokens.has(token),
  };
}

/** RFC 7617: everything after the first colon is the secret. */
function parseBasic(authorization = ''): readonly [clientId?: string, secret?: string] {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return [];
  const [clientId = '', ...secret] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return secret.length === 0 ? [] : [clientId, secret.join(':')];
}
