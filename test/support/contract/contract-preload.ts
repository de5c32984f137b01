import { registerHooks } from 'node:module';

// For `node --import`: each import of the token endpoint in this process gets the watched one.
const WATCHED = new URL('./watched-token-endpoint.ts', import.meta.url).href;
const ORIGINAL = new URL('../../../functions/broker/http/token-endpoint.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url === ORIGINAL && context.parentURL !== WATCHED ? { ...resolved, url: WATCHED } : resolved;
  },
});
