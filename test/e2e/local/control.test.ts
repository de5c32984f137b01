import { expect, it } from 'vitest';
import { pageUrl, shellVariables, startOwnBroker, tokenServiceUrl } from '../../support/processes/local-broker.ts';
import { send } from '../../support/requests.ts';

it('each server of npm start that verifies no signature answers on loopback names with its port, and no page of another site', async () => {
  const broker = await startOwnBroker();
  const { TOKEN_BROKER_CONTROL_URL: control = '' } = shellVariables(broker);
  for (const url of [control, tokenServiceUrl(broker), pageUrl(broker)]) {
    const { port } = new URL(url);
    const ask = async (headers: Readonly<Record<string, string>>, path = '/health-run') =>
      (await send({ method: 'POST', url: url + path, headers, body: '{}' })).status;

    // A request that is let in gets a 404 there, and starts no health run.
    const nothing = '/nothing';
    const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`];
    for (const host of own) expect(await ask({ host }, nothing), host).toBe(404);
    expect(await ask({ origin: url }, nothing)).toBe(404);
    const foreign = ['example.com', '127.0.0.1.example.com', '127.0.0.2', 'user@localhost', 'localhost.'];
    for (const host of [...foreign.map((each) => `${each}:${port}`), 'example.com', '127.0.0.1', 'localhost:1'])
      expect(await ask({ host }), `${url}: ${host}`).toBe(421);
    const origins = ['https://example.com', 'null', 'http://127.0.0.1:1', `http://localhost:${port}`];
    for (const origin of [...origins, url.replace('http:', 'https:')]) {
      expect(await ask({ origin }), `${url}: ${origin}`).toBe(403);
    }
    for (const site of ['cross-site', 'same-site']) {
      expect(await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' })).toBe(403);
      expect(await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' })).toBe(403);
      const link = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
      expect(await ask(link, nothing)).toBe(404);
    }
    if (process.platform !== 'linux') continue;
    const elsewhere = { method: 'GET', url: url.replace('127.0.0.1', '127.0.0.2'), headers: {}, body: '' };
    await expect(send(elsewhere)).rejects.toThrow('ECONNREFUSED');
  }
  expect((await fetch(`${control}/health-run`, { method: 'POST' })).status).toBe(200);
  expect((await fetch(`${control}/health-run`)).status).toBe(404);
});
