import { onTestFinished } from 'vitest';
import { type FunctionUrlSettings, startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { createPageCalls } from '../../../bin/local/page/calls.ts';
import { createRequestFeed, type RequestFeed } from '../../../bin/local/page/feed.ts';
import type { CallReport, Overview } from '../../../bin/local/page/messages.ts';
import { startPage } from '../../../bin/local/page/server.ts';
import { type ReceivedAnswer, send } from '../../support/requests.ts';

export const TOKEN = 'marked-token-of-acme';

/** Its secret key must never reach the page. */
export const BILLING = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'AKIDBILLING',
  secretAccessKey: 'marked-secret-access-key',
};

export const CALL = { caller: BILLING.accessKeyId, operation: 'token', client: 'acme', service: 'customer-insights' };

const ISSUED = { access_token: TOKEN, token_type: 'Bearer', expires_in: 60, fingerprint: '0123456789abcdef' };

const OVERVIEW: Overview = {
  running: [{ name: 'Broker', url: 'http://127.0.0.1:1', detail: 'for a test' }],
  callers: [{ id: BILLING.accessKeyId, name: 'billing', role: BILLING.role, allowed: [] }],
  clients: [{ name: 'acme' }],
  services: [],
};

export interface PageWorld {
  readonly url: string;
  /** What browsers send along when the page itself asks. */
  readonly own: Readonly<Record<string, string>>;
  readonly feed: RequestFeed;
  /** The bodies that reached the broker. */
  readonly asked: readonly string[];
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<ReceivedAnswer>;
  readonly post: (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<ReceivedAnswer>;
  readonly call: (changes?: object) => Promise<CallReport>;
  readonly closeBroker: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A page in front of a broker that gives the same answer to every request. */
export async function startPageWorld(answer: unknown = { statusCode: 200, body: ISSUED }): Promise<PageWorld> {
  const asked: string[] = [];
  const handler: FunctionUrlSettings['handler'] = async ({ body }) => {
    asked.push(body ?? '');
    return answer;
  };
  const feed = createRequestFeed();
  const broker = await startFunctionUrl({ handler, callers: [BILLING], port: 0, onAnswer: feed.answered });
  onTestFinished(broker.close);
  const calls = createPageCalls({ url: broker.url, callers: [BILLING] });
  const page = await startPage({ port: 0, mayMove: true, overview: () => OVERVIEW, feed, calls });
  onTestFinished(page.close);
  const { url } = page;
  const own = { origin: url, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

  const get: PageWorld['get'] = (path, headers = {}) => send({ method: 'GET', url: url + path, headers, body: '' });
  const post: PageWorld['post'] = (path, body, headers = own) =>
    send({ method: 'POST', url: url + path, headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  return {
    url,
    own,
    feed,
    asked,
    get,
    post,
    call: async (changes = {}) => JSON.parse((await post('/call', { ...CALL, ...changes })).body),
    closeBroker: broker.close,
    close: page.close,
  };
}
