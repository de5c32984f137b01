/** Stands in bundles for `node:net`, which as an ES module also loads what blocks addresses. */
export const { isIP } = process.getBuiltinModule('node:net');
