import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createHttpsSender } from '../../functions/aws/https/sender.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../support/certificates.ts';
import { startRawServer } from '../support/raw-server.ts';
import { end } from './hostile-answers.ts';
import { echoOf, SPELLINGS } from './leak-marks.ts';
import { type LeakWorld, startLeakWorld } from './leak-world.ts';

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  let world: LeakWorld;
  let known: CertificateAuthority;
  beforeAll(async () => {
    [world, known] = await Promise.all([startLeakWorld(spelling), createCertificateAuthority()]);
  });
  afterAll(() => world.close());

  /** A server whose certificate has every name that Node may quote in an error. */
  async function startStranger(): Promise<string> {
    const { secret, token, clientId } = world.marks;
    const certificate = await known.issue({ host: `${secret}.${token}.${clientId}.example.com` });
    return start({ certificate });
  }

  it.each(['unknown', 'known'])(
    'a token endpoint with a certificate for other names, by an authority that is %s',
    async (who) => {
      const send = createHttpsSender(who === 'known' ? { ca: known.ca } : {});
      await world.expectSilence({ authUrl: await startStranger(), send }, 'token-endpoint-unavailable');
    },
  );

  it('AWS with a certificate of an unknown authority, for other names', async () => {
    await world.expectSilence({ awsUrl: await startStranger(), isAlone: true }, 'secrets-unavailable');
  });

  it('a server that does not speak TLS and repeats everything', async () => {
    const url = await start({ onConnection: end(echoOf(world.marks)) });
    await world.expectSilence({ authUrl: url }, 'token-endpoint-unavailable');
    await world.expectSilence({ awsUrl: url, isAlone: true }, 'secrets-unavailable');
  });

  it('Node itself would have shown those names', async () => {
    const url = await startStranger();
    const error = await new Promise<Error>((resolve) => request(url, { ca: known.ca }).on('error', resolve).end());
    expect(error.message).toContain(world.marks.secret);
  });
});

async function start(behaviour: Parameters<typeof startRawServer>[0]): Promise<string> {
  const { port, close } = await startRawServer(behaviour);
  onTestFinished(close);
  return `https://localhost:${port}`;
}
