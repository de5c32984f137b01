/** The settings of a service for token requests and for reading their answers, with all defaults. */
export interface Service {
  /** Scheme, host, port and an optional base path. Fixed at deployment: no request can choose a host. */
  readonly authUrl: string;
  /** May contain a query. */
  readonly tokenPath: string;
  readonly basicEncoding: BasicEncoding;
  readonly parameters: Readonly<Record<string, string>>;
  readonly parametersIn: 'query' | 'body' | 'json';
  readonly headers: Readonly<Record<string, string>>;
  /** The names of headers whose values are in the client's secret. */
  readonly clientHeaders?: readonly string[] | undefined;
  /** Dotted paths such as `data.token`. A path replaces the search and must match. */
  readonly response: {
    readonly tokenMember?: string | undefined;
    /** The name of the header that contains the token, in place of a member. */
    readonly tokenHeader?: string | undefined;
    /** `false`: no member and no header contains the life time. */
    readonly lifetimeMember?: string | false | undefined;
    readonly lifetimeUnit: 'seconds' | 'milliseconds';
    readonly passThrough: readonly string[];
  };
  /** Replaces `assumedLifetimeSeconds` for a token whose answer contains no life time. */
  readonly tokenLifetimeSeconds?: number | undefined;
  readonly assumedLifetimeSeconds: number;
  readonly maxLifetimeSeconds: number;
  readonly rejectedOn403: boolean;
  /** More values of the member `error` that reject the credential. */
  readonly rejectedOn?: readonly string[] | undefined;
  /** Whether a new token invalidates the old one. */
  readonly singleActiveToken: boolean;
  /** The timeout of a token request, including the connection. */
  readonly requestTimeoutMs: number;
  /** Certificates in PEM that are trusted for this service's host instead of the public authorities. */
  readonly certificateAuthorities?: readonly string[] | undefined;
}

/** `raw` is UTF-8 of `id:secret` (RFC 7617). `form` form-encodes both parts first (RFC 6749 §2.3.1). */
export type BasicEncoding = 'raw' | 'form';
