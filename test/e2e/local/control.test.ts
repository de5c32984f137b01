import { expect, it, onTestFinished } from 'vitest';
import { startTokenService } from '../../../bin/local/token-service/server.ts';
import { send } from '../../support/requests.ts';
import { startOperatorWorld } from '../commands/operator-world.ts';

/** What stands in for the schedule, and what lets the services fail: both change what the broker does, unsigned. */
const CONTROLS: readonly (readonly [path: string, good: number, start: () => Promise<string>])[] = [
  ['/health-run', 200, async () => (await startOperatorWorld()).shell.TOKEN_BROKER_CONTROL_URL],
  [
    '/customer-insights/incident/recover',
    204,
    async () => {
      const { url, close } = await startTokenService({ credentials: { 'customer-insights': [] } });
      onTestFinished(close);
      return url;
    },
  ],
];

const SITES = ['cross-site', 'same-site'].map((site) => ({ 'sec-fetch-site': site, 'sec-fetch-mode': 'cors' }));

it.each(CONTROLS)(
  '%s answers on loopback names with its port alone, and no page of a browser',
  async (path, good, start) => {
    const url = await start();
    const { port } = new URL(url);
    const ask = async (headers: Readonly<Record<string, string>>) =>
      (await send({ method: 'POST', url: url + path, headers, body: '{}' })).status;

    const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
    for (const host of own) expect(await ask({ host }), host).toBe(good);
    const foreign = ['example.com', `example.com:${port}`, `127.0.0.1.example.com:${port}`, 'localhost', 'localhost:1'];
    for (const host of foreign) expect(await ask({ host }), host).toBe(421);

    expect(await ask({ origin: url })).toBe(good);
    const origins = ['https://example.com', 'null', 'http://127.0.0.1:1', `http://localhost:${port}`];
    for (const origin of origins) expect(await ask({ origin }), origin).toBe(403);
    for (const headers of SITES) expect(await ask(headers)).toBe(403);
  },
);
