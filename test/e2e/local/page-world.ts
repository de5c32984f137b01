import { onTestFinished } from 'vitest';
import { startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { createPageCalls } from '../../../bin/local/page/calls.ts';
import type { CallReport } from '../../../bin/local/page/messages.ts';
import { startPage } from '../../../bin/local/page/server.ts';
import { send } from '../../support/requests.ts';

export const TOKEN = 'marked-token-of-acme';

/** Its secret key must never reach the page. */
export const BILLING = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'AKIDBILLING',
  secretAccessKey: 'marked-secret-access-key',
};

export const CALL = { caller: BILLING.accessKeyId, operation: 'token', client: 'acme', service: 'customer-insights' };

const ISSUED = { access_token: TOKEN, token_type: 'Bearer', expires_in: 60, fingerprint: '0123456789abcdef' };

type Headers = Readonly<Record<string, string>>;

/** A page in front of a broker that gives the same answer to every request; `asked` are the bodies that reached the broker. */
export async function startPageWorld({ status: statusCode = 200, body = ISSUED as unknown } = {}) {
  const asked: string[] = [];
  const handler = async (event: { readonly body?: string | undefined }) => {
    asked.push(event.body ?? '');
    return { statusCode, body: typeof body === 'string' ? body : JSON.stringify(body) };
  };
  const broker = await startFunctionUrl({ handler, callers: [BILLING], port: 0 });
  onTestFinished(broker.close);
  const state = () => ({ running: [], callers: [], clients: [], services: [], requests: [] });
  const { url, close } = await startPage({ port: 0, state, call: createPageCalls(broker.url, [BILLING]) });
  onTestFinished(close);
  /** What browsers send along when the page itself asks. */
  const own: Headers = { origin: url, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

  const post = (form: unknown, headers = own) =>
    send({ method: 'POST', url: `${url}/call`, headers, body: typeof form === 'string' ? form : JSON.stringify(form) });
  return {
    url,
    own,
    asked,
    get: (path: string, headers: Headers = {}) => send({ method: 'GET', url: url + path, headers, body: '' }),
    post,
    call: async (changes: object = {}): Promise<CallReport> => JSON.parse((await post({ ...CALL, ...changes })).body),
    closeBroker: broker.close,
  };
}
