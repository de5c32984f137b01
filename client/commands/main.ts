#!/usr/bin/env node
import packageJson from '../package.json' with { type: 'json' };
import { addDoctorCommand } from './doctor.ts';
import { addPolicyCommand } from './policy.ts';
import { createProgram, runProgram } from './program.ts';
import { addServeCommand } from './serve.ts';
import { endProcess, processShell } from './shell.ts';
import { addTokenCommand } from './token.ts';
import { addWhoamiCommand } from './whoami.ts';

/** The command line of the package, for callers of a broker. */
const shell = processShell();
const program = createProgram('token-broker-client', shell)
  .description('Asks a token broker, as your AWS identity.')
  .version(packageJson.version, '--version', 'print the version of this command line');

addTokenCommand(program, shell);
addWhoamiCommand(program, shell);
addDoctorCommand(program, shell);
addPolicyCommand(program, shell);
addServeCommand(program, shell);

endProcess(await runProgram(program, process.argv.slice(2), shell));
