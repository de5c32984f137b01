import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A program that runs a function. */
export interface RuntimeClient {
  readonly name: string;
  readonly command: readonly string[];
}

/** The plain client of this project, and the one of AWS when it is installed beside it. */
export function runtimeClients(plain: string): readonly RuntimeClient[] {
  const aws = awsRuntimeClient();
  return [
    { name: 'a plain runtime client', command: [process.execPath, plain] },
    ...(aws === undefined ? [] : [{ name: 'aws-lambda-ric', command: [process.execPath, aws, 'index.handler'] }]),
  ];
}

function awsRuntimeClient(): string | undefined {
  const program = fileURLToPath(new URL('../../../node_modules/aws-lambda-ric/bin/index.mjs', import.meta.url));
  return existsSync(program) ? program : undefined;
}
