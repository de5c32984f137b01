import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type FunctionUrl,
  type FunctionUrlSettings,
  startFunctionUrl,
} from '../../../bin/local/function-url/server.ts';
import { send } from '../../support/requests.ts';

const CALLER = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'AKIDBILLING',
  secretAccessKey: 'billing-secret',
};

const open: FunctionUrl[] = [];
afterEach(() => Promise.all(open.splice(0).map((functionUrl) => functionUrl.close())));

describe('the server behind the Function URL', () => {
  it('says which port is taken and what to do', async () => {
    const { port } = new URL((await start()).url);
    await expect(start({ port: Number(port) })).rejects.toThrow(`port ${port} is in use; set PORT to another one`);
  });

  it.skipIf(process.platform !== 'linux')('listens on 127.0.0.1 alone (skipped elsewhere than on Linux)', async () => {
    const { port } = new URL((await start()).url);
    await expect(ask(`http://127.0.0.2:${port}`)).rejects.toThrow('ECONNREFUSED');
  });

  it('does not start for a caller that is no role', async () => {
    const role = 'arn:aws:iam::111111111111:user/billing';
    await expect(start({ callers: [{ ...CALLER, role }] })).rejects.toThrow(`not the ARN of a role: ${role}`);
  });

  it('keeps a connection for the next request', async () => {
    const functionUrl = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports: (number | undefined)[] = [];
    for (const _ of [1, 2]) ports.push(await localPort(functionUrl.url, agent));
    agent.destroy();
    expect(ports[0]).toBe(ports[1]);
  });

  it('closes connections that are open', async () => {
    const functionUrl = await start();
    const socket = connect(Number(new URL(functionUrl.url).port), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await functionUrl.close();
    await ended;
    await expect(ask(functionUrl.url)).rejects.toThrow('ECONNREFUSED');
  });

  it('survives a client that hangs up half-way', async () => {
    const functionUrl = await start();
    const socket = connect(Number(new URL(functionUrl.url).port), '127.0.0.1');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.end('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf');
    socket.resume();
    await ended;
    expect(await ask(functionUrl.url)).toMatchObject({ status: 403 });
  });
});

async function start(settings: Partial<FunctionUrlSettings> = {}): Promise<FunctionUrl> {
  const functionUrl = await startFunctionUrl({ handler: async () => 'ok', callers: [CALLER], port: 0, ...settings });
  open.push(functionUrl);
  return functionUrl;
}

/** Unsigned: a 403 shows just as well that the server answers. */
function ask(url: string) {
  return send({ method: 'GET', url, headers: {}, body: '' });
}

function localPort(url: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent }, (response) => {
      const port = response.socket.localPort;
      response.resume().on('end', () => resolve(port));
    });
    request.on('error', reject).end();
  });
}
