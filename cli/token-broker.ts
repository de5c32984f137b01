import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Runs before other imports: compiling TypeScript again would take longer than the command itself. The cache is in this
// project's folder, because another user of the machine could replace the code in a shared folder.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/token-broker', import.meta.url)));
const { endProcess, processShell } = await import('../client/commands/shell.ts');
const { runCommandLine } = await import('./command-line.ts');
const { useSettings } = await import('./shared/settings-option.ts');

endProcess(await runCommandLine(useSettings(process.argv.slice(2)), processShell()));
