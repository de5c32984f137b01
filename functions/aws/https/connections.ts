import http, { type ClientRequest, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { createAgents } from './agents.ts';

export interface Connections {
  /** Lets idle connections notice what happened to them; to be awaited before `request`. */
  readonly catchUp: () => Promise<void>;
  /** Starts a request on an idle connection that is fit for it, else on a new one. */
  readonly request: (url: URL, options: Pick<RequestOptions, 'method' | 'headers'>) => ClientRequest;
}

interface Options {
  /** Certificates (PEM) to trust instead of Node's own. */
  readonly ca?: string | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Keeps connections to the token endpoints open between requests: verified TLS, plain HTTP only on loopback. */
export function createConnections({ ca, now }: Options): Connections {
  const { secure, plain, dropUnfit } = createAgents({
    now,
    // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED=0 would switch it off.
    tls: { ...(ca !== undefined && { ca }), minVersion: 'TLSv1.2', rejectUnauthorized: true },
  });

  return {
    async catchUp() {
      // Only the second turn is certain to have a whole round of reading before it.
      await turnOfTheLoop();
      await turnOfTheLoop();
    },
    request(url, options) {
      dropUnfit();
      const settings = { ...options, maxHeaderSize: MAX_HEADER_BYTES };
      if (url.protocol === 'https:') return https.request(url, { ...settings, ...serverName(url), agent: secure });
      if (url.protocol === 'http:' && isLoopback(url)) return http.request(url, { ...settings, agent: plain });
      throw new Error('A token request goes over https, or over http on loopback.');
    },
  };
}

const MAX_HEADER_BYTES = 16_384;

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Node would take the name from a `host` header; an IP address has none. */
function serverName({ hostname }: URL): { servername?: string } {
  return isIP(unbracketed(hostname)) === 0 ? { servername: hostname } : {};
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
