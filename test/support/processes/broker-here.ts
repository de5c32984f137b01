import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, vi } from 'vitest';
import type { Message } from '../../../functions/health/rules/messages.ts';
import { startLocalBroker } from '../../../local/broker.ts';
import { OUTRANKING, shellCallers, shellVariables } from '../../../local/shell.ts';

export type BrokerHere = Awaited<ReturnType<typeof startBrokerHere>>;

const REAL_NOW = Date.now;

/** The whole local broker in this process, for one test, at whose end no function of it has failed. */
export async function startBrokerHere(config?: unknown, port = 0) {
  for (const name of SET_BY_BROKER) vi.stubEnv(name, undefined);
  let lateMs = 0;
  // The SDK signs with `new Date()`, and corrects it by the header `date` of an answer.
  class LateDate extends Date {
    constructor(...given: [] | [number | string | Date]) {
      super(given[0] ?? LateDate.now());
    }
    static override now = () => REAL_NOW() + lateMs;
  }
  vi.stubGlobal('Date', LateDate);
  const dateAnswer = (message: unknown) =>
    (message as { response: ServerResponse }).response.setHeader('date', new LateDate().toUTCString());
  subscribe('http.server.request.start', dateAnswer);
  const messages: Message[] = [];
  const written: string[] = [];
  const failures: unknown[] = [];
  const broker = await startLocalBroker({
    port,
    config,
    write: (line) => void written.push(line),
    onMessage: (message) => messages.push(message),
    onFailure: (_, error) => failures.push(error),
  });
  onTestFinished(async () => {
    await broker.eventsSettled();
    await broker.close();
    unsubscribe('http.server.request.start', dateAnswer);
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
    expect(failures).toEqual([]);
  });
  const [operator] = shellCallers(broker.config).values();
  if (operator === undefined) throw new TypeError('no caller');
  const variables = Object.entries({ ...shellVariables(broker, operator), AWS_SESSION_TOKEN: '' });
  return {
    ...broker,
    /** The lines of the log. */
    written,
    /** The health function's messages to the operators. */
    messages,
    letTimePass(ms: number): void {
      lateMs += ms;
    },
    /** The variables of an operator's shell. */
    shell: Object.fromEntries(variables.map(([name, value]) => [name, value ?? ''])),
  };
}

/** The variables that a local broker sets in its process; the end of the test restores them. */
const SET_BY_BROKER = [
  ...['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_SNS', 'AWS_ENDPOINT_URL_STS', 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS'],
  ...['AWS_USE_DUALSTACK_ENDPOINT', 'AWS_USE_FIPS_ENDPOINT'],
  ...['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', ...OUTRANKING],
];
