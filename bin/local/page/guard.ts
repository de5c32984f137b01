import type { IncomingMessage } from 'node:http';

export interface Refused {
  readonly status: number;
  readonly message: string;
}

/**
 * Tells why a request must not be served. Whatever a browser on this machine is looking at can send requests to
 * loopback: a name that leads here (DNS rebinding) and another site's page (CSRF) are turned away.
 */
export function createGuard(port: number): (request: IncomingMessage) => Refused | undefined {
  // As a URL writes them: without the port when it is 80.
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => new URL(`http://${name}:${port}`).host);

  return ({ method, headers }) => {
    const { host = '', origin } = headers;
    if (!hosts.includes(host.toLowerCase())) return WRONG_HOST;
    if (isFromElsewhere(headers)) return FOREIGN;
    if (method !== 'POST') return undefined;
    if (origin !== `http://${host}`) return FOREIGN;
    // What a form of another site cannot send without being asked first.
    return headers['content-type'] === 'application/json' ? undefined : WRONG_TYPE;
  };
}

/** Browsers say where a request comes from; a link to the page may stand anywhere. */
function isFromElsewhere(headers: IncomingMessage['headers']): boolean {
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = headers;
  if (site === 'same-origin' || site === 'none') return false;
  return !(mode === 'navigate' && dest === 'document');
}

const WRONG_HOST = { status: 421, message: 'This page is only for localhost and 127.0.0.1.' };
const FOREIGN = { status: 403, message: 'Only the page itself may ask for this.' };
const WRONG_TYPE = { status: 415, message: 'Send application/json.' };
