// Bundles the package as ES modules and as CommonJS, with the files of functions/ that it imports.
import { cpSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** Makes the other bundles import the caller's copy of the client, so that `instanceof` works. */
const oneClient = {
  name: 'one-client',
  setup: ({ onResolve }) => onResolve({ filter: /\/index\.ts$/ }, () => ({ path: './index.js', external: true })),
};
const common = { bundle: true, packages: 'external', platform: 'node', target: 'node22' };
const testing = { ...common, entryPoints: ['testing.ts'], plugins: [oneClient] };

await build({ ...common, entryPoints: ['index.ts'], format: 'esm', outdir: 'dist/esm' });
await build({ ...testing, format: 'esm', outdir: 'dist/esm' });
await build({ ...testing, entryPoints: ['commands/main.ts'], format: 'esm', outfile: 'dist/esm/commands.js' });

// `import()` becomes `require`: Jest loads CommonJS and has no `import()`.
const cjs = { format: 'cjs', outdir: 'dist/cjs', supported: { 'dynamic-import': false } };
await build({ ...common, ...cjs, entryPoints: ['index.ts'] });
await build({ ...testing, ...cjs });

// The same types again: the package.json next to them makes TypeScript read them as CommonJS.
cpSync('dist/esm', 'dist/cjs', { recursive: true, filter: (path) => !path.endsWith('.js') });
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
