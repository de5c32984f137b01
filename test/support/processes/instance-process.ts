import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BrokerSettings } from '../../../functions/environment.ts';

/** A process that hosts instances: brokers that share the data in AWS and nothing else. */
export interface InstanceProcess {
  /** Carries out one order and tells the result. */
  readonly order: (order: Order) => Promise<Report>;
  /** Ends the process at once, also in the middle of its work; open orders get no answer. */
  readonly kill: () => Promise<void>;
}

/** The steps of an order, in this order; each may be left out. */
export interface Order {
  /** Which instances, by any numbers; one with a new number is made, and is cold. */
  readonly instances?: readonly number[];
  /** The body of `POST /token` that each of them gets, all at once. */
  readonly body?: object;
  /** When they are asked, in epoch milliseconds of this machine, however slow the process is. */
  readonly at?: number;
}

export interface Report {
  readonly answers: readonly InstanceAnswer[];
  /** All HTTP requests of the process so far, by the operation of AWS; `POST` stands for token requests. */
  readonly calls: Readonly<Record<string, number>>;
}

export interface InstanceAnswer {
  readonly status: number;
  readonly body: { readonly access_token?: string; readonly expires_in?: number; readonly type?: string };
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
  /** Who signs the requests. */
  readonly role: string;
  /** See `slowDown`. */
  readonly slowMotion: { readonly factor: number; readonly since: number };
}

/** Starts a process with these variables and nothing of this machine's AWS set-up in reach. */
export function startInstanceProcess(
  settings: ProcessSettings,
  variables: Readonly<Record<string, string>>,
): InstanceProcess {
  const child = fork(PROGRAM, [JSON.stringify(settings)], { env: variables, execArgv: [], silent: true });
  const ordered = new Map<number, PromiseWithResolvers<Report>>();
  let orders = 0;

  for (const stream of [child.stdout, child.stderr]) stream?.resume();
  child.on('message', (message) => {
    const { id, ...report }: Report & { readonly id: number } = JSON.parse(String(message));
    ordered.get(id)?.resolve(report);
  });
  const ended = once(child, 'close').then(() => {
    for (const { resolve } of ordered.values()) resolve({ answers: [], calls: {} });
  });

  return {
    order(order) {
      const report = Promise.withResolvers<Report>();
      const id = orders++;
      ordered.set(id, report);
      child.send(JSON.stringify({ ...order, id }));
      return report.promise;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const PROGRAM = fileURLToPath(new URL('./instance-process-main.ts', import.meta.url));
