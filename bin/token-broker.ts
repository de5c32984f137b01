import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Before anything else is loaded: reading TypeScript anew costs each call more than all its work. In a folder of this
// project, because code that is kept in a common one could be exchanged by another user of the machine.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/token-broker', import.meta.url)));
const { endProcess, processShell } = await import('../client/commands/shell.ts');
const { runCommandLine } = await import('./commands/command-line.ts');

endProcess(await runCommandLine(process.argv.slice(2), processShell()));
