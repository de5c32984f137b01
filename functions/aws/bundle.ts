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

/** Stands in for that of `@smithy/node-http-handler`, which is 7 kB: the token function gives its client a handler. */
export const NodeHttpHandler = { create: <Handler>(handler: Handler) => handler };

/** Of the same package. It would read a stream, and the token function's handler answers with bytes. */
export const streamCollector = undefined;

/** Stands in for that of `@smithy/core/checksum`, which is SHA-256 in JavaScript too. */
// biome-ignore lint/performance/noBarrelFile: a bundler replaces every package by this one file
export { Sha256 } from './sha256.ts';

/** Stands in for that of `@aws/lambda-invoke-store`: without one the SDK takes the trace's id from its variable. */
export const InvokeStore = { getInstanceAsync: () => undefined };

/**
 * Stands in for `node:http` too. Imported as an ES module, it would load all that its exports depend on: 70 more modules,
 * undici above all, that nothing here uses.
 */
// biome-ignore lint/style/noDefaultExport: the sender imports the default of node:http
export default process.getBuiltinModule('node:http');
