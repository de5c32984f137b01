/**
 * Stands in bundles for `node:fs`, `node:http`, `node:net` and `node:process`: to import one of them as an ES module touches
 * each of its exports and loads what they need. `node:http` alone loads undici, 70 more modules that nothing here uses.
 */
// biome-ignore lint/style/noDefaultExport: this is what is imported of node:http
export default process.getBuiltinModule('node:http');

export const { fstatSync, lstatSync, readFileSync } = process.getBuiltinModule('node:fs');

/** The SDK asks whether a body is one, to measure it; ours are texts. */
export class ReadStream {}

export const { isIP } = process.getBuiltinModule('node:net');

export const { env, versions } = process;
