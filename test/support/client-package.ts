import { registerHooks } from 'node:module';

// For `node --import`: the client under the name of its package, which is not installed here.
const CLIENT = new URL('../../client/index.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'token-broker-client' ? CLIENT : specifier, context),
});
