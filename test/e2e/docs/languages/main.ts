import { createInterface } from 'node:readline';
import { createTokenBroker, TokenRefused } from '../../../../client/index.ts';

// Carries out the orders on its standard input with the client: a line with tabs in, a list in JSON out.
const broker = createTokenBroker({ url: process.env.TOKEN_BROKER_URL ?? '' });
for await (const line of createInterface(process.stdin)) {
  const [kind, times, client = '', service = '', refused] = line.split('\t');
  const call = async () => {
    const refusals = [refused];
    return broker.withToken({ client, service }, ({ accessToken }) => {
      if (refusals.pop() === accessToken) throw new TokenRefused();
      return accessToken;
    });
  };
  const calls = Array.from({ length: Number(times) }, () => call().catch(told));
  process.stdout.write(`${JSON.stringify(kind === 'begin' ? [] : await Promise.all(calls))}\n`);
}

function told({ retryable, message, advice }: { retryable?: boolean; message: string; advice?: string }): string {
  return `${retryable ? 'retryable ' : ''}${message} ${advice}`;
}
