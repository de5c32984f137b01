import { startProgram } from './program.ts';

export type StandInName = 'dynamodb' | 'secrets-manager';

/** Starts a stand-in of AWS in a process of its own, so that a burst of calls to it shares no processor with others. */
export async function startStandInProcess(which: StandInName) {
  const { order, kill } = startProgram<StandInName, string>(PROGRAM, []);
  return { url: await order(which), close: kill };
}

const PROGRAM = new URL('./stand-in-process-main.ts', import.meta.url);
