/**
 * Stands in the token function's bundle for `@aws-sdk/credential-provider-node`, which looks for credentials in eight places
 * and brings six clients for it, a third of a bundle. Lambda gives a function its role's credentials in these variables,
 * and nowhere else.
 */
export function defaultProvider() {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
      const error = new Error('The environment variables hold no credentials.');
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
 * Stands in for `node:http` too. Imported as an ES module, it would load all that its exports depend on: 70 more modules,
 * undici above all, that nothing here uses.
 */
// biome-ignore lint/style/noDefaultExport: the SDK imports the default of node:http
export default process.getBuiltinModule('node:http');
