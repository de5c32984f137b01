#!/usr/bin/env node
import { addDoctorCommand } from './doctor.ts';
import { addPolicyCommand } from './policy.ts';
import { createProgram, interruption, runProgram } from './program.ts';
import { addTokenCommand } from './token.ts';
import { addWhoamiCommand } from './whoami.ts';

/** The command line of the package: what a caller of a broker needs. */
const program = createProgram('token-broker-client').description('Asks a token broker, as your AWS identity.');
const signal = interruption();

addTokenCommand(program, signal);
addWhoamiCommand(program, signal);
addDoctorCommand(program, signal);
addPolicyCommand(program);

await runProgram(program);
