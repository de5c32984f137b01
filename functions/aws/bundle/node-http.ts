/**
 * Stands in bundles for `node:http`: to import that as an ES module touches each of its exports, and one of them
 * loads undici, 70 more modules of Node that nothing here uses.
 */
// biome-ignore lint/style/noDefaultExport: this is what the SDK imports
export default process.getBuiltinModule('node:http');
