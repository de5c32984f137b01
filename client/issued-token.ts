/**
 * A token as the broker issued it. `toString`, `toJSON`, inspection and copies by spread do not give the token away:
 * only `accessToken` does.
 */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: string;
  /**
   * Epoch milliseconds on this machine's clock, counted from when the token was asked for: not later than the true end,
   * however wrong this clock is.
   */
  readonly expiresAt: number;
  /** Who said how long the token lives: `response`, `jwt`, `configured` or `assumed`. */
  readonly expirySource: string;
  /** Names the token without giving it away: for logs, and for `refused`. */
  readonly fingerprint: string;
  readonly scope?: string | undefined;
  /** Further members of the service's answer that the broker is set to hand on. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Makes a token out of its members; what may be secret is hidden from whatever prints or copies objects. */
export function issuedToken({ accessToken, passThrough, ...told }: IssuedToken): IssuedToken {
  const hidden = (value: unknown) => ({ value, enumerable: false });
  const shown = () => ({ accessToken: REDACTED, ...told });
  return Object.freeze(
    Object.defineProperties(
      { accessToken, passThrough, ...told },
      {
        accessToken: hidden(accessToken),
        // A service may send along what is as secret as the token: a refresh token, for example.
        passThrough: hidden(passThrough),
        toString: hidden(() => REDACTED),
        toJSON: hidden(shown),
        [Symbol.for('nodejs.util.inspect.custom')]: hidden(shown),
      },
    ),
  );
}

const REDACTED = '[redacted]';
