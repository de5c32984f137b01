import { createInterface } from 'node:readline';
import { createTokenBroker, type TokenBroker, TokenRefused } from '../../../../client/index.ts';

// Carries out the orders on its standard input with the client: a line with tabs in, a list in JSON out.
const brokers = new Map<string, TokenBroker>();
for await (const line of createInterface(process.stdin)) {
  const [kind, times, url = '', client = '', service = '', refused] = line.split('\t');
  const broker = brokers.get(url) ?? createTokenBroker({ url });
  brokers.set(url, broker);
  const call = async () => {
    const refusals = [refused];
    return broker.withToken({ client, service }, ({ accessToken }) => {
      if (refusals.pop() === accessToken) throw new TokenRefused();
      return accessToken;
    });
  };
  const calls = Array.from({ length: Number(times) }, () => call().catch(told));
  const outcomes = Promise.all(calls);
  process.stdout.write(`${JSON.stringify(kind === 'begin' ? [] : await outcomes)}\n`);
}

function told({ retryable, message, advice }: { retryable?: boolean; message: string; advice?: string }): string {
  return `${retryable ? 'retryable ' : ''}${message} ${advice}`;
}
