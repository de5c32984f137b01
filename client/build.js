// Bundles the package as ES modules and as CommonJS, with the files of functions/ that it imports.
import { cpSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** Makes the other bundles import the caller's copy of the client, so that `instanceof` works. */
const oneClient = {
  name: 'one-client',
  setup: ({ onResolve }) => onResolve({ filter: /\/index\.ts$/ }, () => ({ path: './index.js', external: true })),
};
const common = { bundle: true, packages: 'external', platform: 'node', target: 'node22' };
const others = { testing: 'testing.ts', commands: 'commands/main.ts' };

await build({ ...common, entryPoints: ['index.ts'], format: 'esm', outdir: 'dist/esm' });
await build({ ...common, entryPoints: others, plugins: [oneClient], format: 'esm', outdir: 'dist/esm' });

// `import()` becomes `require`: Jest loads CommonJS and has no `import()`.
const cjs = { format: 'cjs', outdir: 'dist/cjs', supported: { 'dynamic-import': false } };
await build({ ...common, ...cjs, entryPoints: ['index.ts'] });
await build({ ...common, ...cjs, entryPoints: ['testing.ts'], plugins: [oneClient] });

// The same types again: the package.json next to them makes TypeScript read them as CommonJS.
cpSync('dist/esm', 'dist/cjs', { recursive: true, filter: (path) => !path.endsWith('.js') });
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
