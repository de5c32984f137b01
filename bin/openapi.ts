import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { runRedocly } from './openapi/redocly.ts';
import { openapiYaml } from './openapi/yaml.ts';

const PAGE = fileURLToPath(new URL('../docs/openapi.yaml', import.meta.url));
const FROZEN = fileURLToPath(new URL('../test/docs/openapi.frozen.yaml', import.meta.url));

/** Writes docs/openapi.yaml anew and, when that is asked for, accepts it as the contract. */
async function main(): Promise<void> {
  const { freeze = false }: { readonly freeze?: boolean } = new Command('npm run openapi --')
    .description('Writes docs/openapi.yaml from the code.')
    .option('--freeze', 'accept what has changed; needs a version of the contract that tells how much it is')
    .parse()
    .opts();

  writeFileSync(PAGE, openapiYaml());
  if (freeze) await freezeContract();
}

/** Refuses a change under the old version, so that nobody accepts one by accident. */
async function freezeContract(): Promise<void> {
  if (existsSync(FROZEN)) {
    const { isOk, output } = await runRedocly('diff', FROZEN, PAGE, '--fail-on', 'none', '--check-version');
    process.stdout.write(output);
    if (!isOk) {
      process.stderr.write('Set CONTRACT_VERSION in bin/openapi/document.ts accordingly.\n');
      process.exitCode = 1;
      return;
    }
  }
  copyFileSync(PAGE, FROZEN);
}

await main();
