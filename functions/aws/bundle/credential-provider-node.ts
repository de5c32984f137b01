/**
 * Stands in bundles for the package of this name. That one looks for credentials in eight places and brings six clients
 * for it, a third of a bundle; Lambda gives a function its role's credentials in these variables, and nowhere else.
 */
export function defaultProvider(): () => Promise<Credentials> {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) throw new CredentialsProviderError();
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  };
}

/** Named as the one of the SDK. */
class CredentialsProviderError extends Error {
  override readonly name = 'CredentialsProviderError';
  override readonly message = 'There are no credentials in the environment.';
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}
