/**
 * Stands in bundles for `node:fs`: to import that as an ES module touches each of its exports and loads what they need,
 * the promises, the watchers and the reading of lines among them.
 */
export const { fstatSync, lstatSync, readFileSync } = process.getBuiltinModule('node:fs');

/** The SDK asks whether a body is one, to measure it; ours are texts. */
export class ReadStream {}
