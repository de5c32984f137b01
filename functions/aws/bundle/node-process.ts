/**
 * Stands in bundles for `node:process`: to import that as an ES module touches each of its exports and loads what they
 * need, a twentieth of the time in which the token function loads.
 */
export const { env, versions } = process;
