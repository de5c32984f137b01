import { createServer, type ServerResponse } from 'node:http';
import { listen } from './loopback.ts';

export interface ControlServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

interface Options {
  readonly runHealth: () => Promise<unknown>;
}

/** Stands in for the schedule on 127.0.0.1: `POST /health-run` runs the health function once and answers with its result. */
export async function startControl({ runHealth }: Options): Promise<ControlServer> {
  const server = createServer(async ({ method, url }, response) => {
    if (method !== 'POST' || url !== '/health-run') return answer(response, 404, { message: 'POST /health-run' });
    try {
      answer(response, 200, await runHealth());
    } catch (error) {
      answer(response, 500, { message: error instanceof Error ? error.message : 'the health run failed' });
    }
  });
  const port = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
