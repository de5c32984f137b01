/**
 * Stands in the token function's bundle for `@aws-sdk/credential-provider-node`, which looks for credentials in eight places
 * and brings six clients for it, a third of a bundle. Lambda gives a function its role's credentials in these variables,
 * and nowhere else.
 */
export function defaultProvider() {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
      const error = new Error('There are no credentials in the environment.');
      throw Object.assign(error, { name: 'CredentialsProviderError' });
    }
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  };
}

/**
 * Stands there for `node:http` as well: to import it as an ES module touches each of its exports and loads what they need,
 * undici above all, 70 more modules that nothing here uses.
 */
// biome-ignore lint/style/noDefaultExport: this is what is imported of node:http
export default process.getBuiltinModule('node:http');
