import type { StoreLimits } from '../../../functions/aws/pair-table/circuit-breaker.ts';
import type { BrokerSettings } from '../../../functions/variables.ts';
import { startProgram } from './program.ts';

/** A process that hosts instances: brokers that share the data in AWS and nothing else. */
export type InstanceProcess = ReturnType<typeof startInstanceProcess>;

export interface Order {
  /** Which instances, by any numbers; one with a new number is made, and is cold. */
  readonly instances: readonly number[];
  /** The body of `POST /token` that each of them gets, all at once; without it, none is asked. */
  readonly body?: object;
  /** When they are asked, in epoch milliseconds of this machine, however slow the process is. */
  readonly at?: number;
}

export interface InstanceAnswer {
  readonly status: number;
  readonly body: { readonly access_token?: string; readonly fingerprint?: string; readonly type?: string };
  /** From the event to the answer, in the time of the process. */
  readonly waitMs: number;
}

/** Shared by every instance of a process. */
export interface ProcessSettings {
  /** The URL of the bundle of `functions/token-function.ts`. */
  readonly code: string;
  readonly environment: string;
  readonly tableName: string;
  readonly settings: BrokerSettings;
  readonly storeLimits?: StoreLimits | undefined;
  /** Who signs the requests. */
  readonly role: string;
  /** See `slowDown`. */
  readonly slowMotion: { readonly factor: number; readonly since: number };
}

/** Starts a process with these variables and nothing of this machine's AWS set-up in reach. */
export function startInstanceProcess(settings: ProcessSettings, variables: Readonly<Record<string, string>>) {
  const options = { env: variables };
  return startProgram<Order, readonly InstanceAnswer[]>(PROGRAM, [JSON.stringify(settings)], options);
}

const PROGRAM = new URL('./instance-process-main.ts', import.meta.url);
