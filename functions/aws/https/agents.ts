import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

/**
 * Agents that keep a connection between requests, idle for at most 30 s. The age is measured on the clock: a frozen
 * instance runs no timers and wakes up with connections long dead. `now`: epoch milliseconds. `dropUnfit` closes the idle
 * connections that must not serve again; to be called before each request.
 */
export function createKeepAliveAgents(now: () => number, tls: https.AgentOptions) {
  const idle = new WeakMap<Socket, { readonly since: number; readonly bytesRead: number }>();
  const [secure, plain] = [new https.Agent({ ...POOL, ...tls }), new http.Agent(POOL)];

  for (const agent of [secure, plain]) {
    const keepSocketAlive = agent.keepSocketAlive.bind(agent);
    agent.keepSocketAlive = (socket: Socket) => {
      idle.set(socket, { since: now(), bytesRead: socket.bytesRead });
      return keepSocketAlive(socket);
    };
  }

  return {
    secure,
    plain,
    dropUnfit() {
      const free = [secure, plain].flatMap(({ freeSockets }) => Object.values(freeSockets));
      for (const socket of free.flatMap((sockets = []) => sockets)) if (!isFit(socket)) socket.destroy();
    },
  };

  /** Bytes that no request asked for must not become the answer to the next one; newer Nodes see to that themselves. */
  function isFit(socket: Socket): boolean {
    const last = idle.get(socket);
    return last !== undefined && last.bytesRead === socket.bytesRead && now() - last.since < MAX_IDLE_MS;
  }
}

/** Below what load balancers commonly allow an idle connection. */
const MAX_IDLE_MS = 30_000;
const POOL = { keepAlive: true, scheduling: 'lifo', maxSockets: 64, maxFreeSockets: 8, timeout: MAX_IDLE_MS } as const;
