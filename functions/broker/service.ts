/** How one service is asked for a token and how its answer is read, with every default. */
export interface Service {
  /** Scheme, host, port and an optional base path; fixed at deploy time, so no request can choose a host. */
  readonly authUrl: string;
  readonly tokenPath: string;
  readonly basicEncoding: BasicEncoding;
  readonly parameters: Readonly<Record<string, string>>;
  readonly parametersIn: 'query' | 'body';
  readonly headers: Readonly<Record<string, string>>;
  /** Members are dotted paths such as `data.token`; a path that is set replaces the search and must match. */
  readonly response: {
    readonly tokenMember?: string | undefined;
    readonly lifetimeMember?: string | undefined;
    readonly lifetimeUnit: 'seconds' | 'milliseconds';
    readonly passThrough: readonly string[];
  };
  /** The life time of a token whose answer gives none, instead of `assumedLifetimeSeconds`. */
  readonly tokenLifetimeSeconds?: number | undefined;
  readonly assumedLifetimeSeconds: number;
  readonly maxLifetimeSeconds: number;
  readonly rejectedOn403: boolean;
  /** Whether a new token invalidates the old one. */
  readonly singleActiveToken: boolean;
  /** For one token request, connecting included. */
  readonly requestTimeoutMs: number;
  /** Certificates in PEM that are trusted for this service's host, in place of the public authorities. */
  readonly certificateAuthorities?: readonly string[] | undefined;
}

/** `raw`: RFC 7617, UTF-8 of `id:secret`. `form`: RFC 6749 §2.3.1, both parts form-encoded first. */
export type BasicEncoding = 'raw' | 'form';
