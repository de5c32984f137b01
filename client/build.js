// Bundles the package as an ES module and as CommonJS, with the facts of functions/contract.ts in it.
import { cpSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const common = { entryPoints: ['index.ts'], bundle: true, packages: 'external', platform: 'node', target: 'node20' };
for (const format of ['esm', 'cjs']) await build({ ...common, format, outdir: `dist/${format}` });

// The same types once more: TypeScript reads them as CommonJS because of the package.json beside them.
cpSync('dist/esm', 'dist/cjs', { recursive: true, filter: (path) => !path.endsWith('.js') });
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
