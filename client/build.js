// Bundles the package as ES modules and as CommonJS, with the facts of functions/vocabulary.ts in it.
import { cpSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** What is beside the client uses the one copy of it that its caller has, so that `instanceof` holds. */
const oneClient = {
  name: 'one-client',
  setup: ({ onResolve }) => onResolve({ filter: /\/index\.ts$/ }, () => ({ path: './index.js', external: true })),
};
const common = { bundle: true, packages: 'external', platform: 'node', target: 'node20' };
const testing = { ...common, entryPoints: ['testing.ts'], plugins: [oneClient] };

await build({ ...common, entryPoints: ['index.ts'], format: 'esm', outdir: 'dist/esm' });
await build({ ...testing, format: 'esm', outdir: 'dist/esm' });
await build({ ...testing, entryPoints: ['commands/main.ts'], format: 'esm', outfile: 'dist/esm/commands.js' });

// `import()` becomes `require`: Jest, which loads CommonJS, has no `import()`.
const cjs = { format: 'cjs', outdir: 'dist/cjs', supported: { 'dynamic-import': false } };
await build({ ...common, ...cjs, entryPoints: ['index.ts'] });
await build({ ...testing, ...cjs });

// The same types once more: TypeScript reads them as CommonJS because of the package.json beside them.
cpSync('dist/esm', 'dist/cjs', { recursive: true, filter: (path) => !path.endsWith('.js') });
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
