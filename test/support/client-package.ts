import { registerHooks } from 'node:module';

// For `node --import`: the client under the name that it is packed with, which nobody has installed here.
const CLIENT = new URL('../../client/index.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'token-broker-client' ? CLIENT : specifier, context),
});
