import { onTestFinished } from 'vitest';
import { startFunctionUrl } from '../../../../local/function-url/server.ts';
import { createPageCalls } from '../../../../local/page/calls.ts';
import type { CallReport, State } from '../../../../local/page/messages.ts';
import { startPage } from '../../../../local/page/server.ts';
import { send } from '../../../support/requests.ts';

export const TOKEN = 'marked-token-of-acme';

/** Its secret key must never reach the page. */
export const BILLING = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'AKIDBILLING',
  secretAccessKey: 'marked-secret-access-key',
};

export const CALL = { caller: BILLING.accessKeyId, operation: 'token', client: 'acme', service: 'customer-insights' };
export const INCIDENT = { service: 'customer-insights', name: 'down' };

const ISSUED = { access_token: TOKEN, token_type: 'Bearer', expires_in: 60, fingerprint: '0123456789abcdef' };

const STATE: State = {
  ...{ callers: [], services: [], clients: [], table: 'recover', create: [], saved: '', requests: [], messages: [] },
};

type Headers = Readonly<Record<string, string>>;

interface Answered {
  readonly status?: number;
  readonly body?: unknown;
  /** What an operator has done to the client. */
  readonly state?: 'disabled' | 'deleted';
}

/**
 * A page in front of a broker that gives the same answer to every request; `asked` are the bodies that reached the broker,
 * `ordered` the incidents and the runs of the schedule.
 */
export async function startPageWorld({ status: statusCode = 200, body = ISSUED as unknown, state }: Answered = {}) {
  const asked: string[] = [];
  const ordered: unknown[] = [];
  const handler = async (event: { readonly body?: string | undefined }) => {
    asked.push(event.body ?? '');
    return { statusCode, body: typeof body === 'string' ? body : JSON.stringify(body) };
  };
  const broker = await startFunctionUrl({ handler, callers: [BILLING], port: 0 });
  onTestFinished(broker.close);
  const auditLine = (id: string) => (id === 'request-1' ? '{"outcome":"issued"}' : undefined);
  const clients = () => [{ name: 'acme', current: 'version-1', servicesTag: 'all', state }];
  const call = createPageCalls({ url: broker.url, callers: [BILLING], clients, auditLine, sentFor: () => [] });
  const { url, close } = await startPage({
    ...{ port: 0, state: async () => STATE, auditLine, call },
    play: (incident) =>
      ordered.push(incident) > 0 && incident.name === INCIDENT.name ? { says: 'it is down' } : undefined,
    runSchedule: async () => void ordered.push('schedule'),
  });
  onTestFinished(close);
  /** What browsers send along when the page itself asks. */
  const own: Headers = { origin: url, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

  const post = (form: unknown, { path = '/call', headers = own } = {}) =>
    send({ method: 'POST', url: url + path, headers, body: typeof form === 'string' ? form : JSON.stringify(form) });
  return {
    url,
    own,
    asked,
    ordered,
    get: (path: string, headers: Headers = {}) => send({ method: 'GET', url: url + path, headers, body: '' }),
    post,
    call: async (changes: object = {}): Promise<CallReport> => JSON.parse((await post({ ...CALL, ...changes })).body),
    closeBroker: broker.close,
  };
}

/** One of the texts of a report. */
export function textOf({ texts }: CallReport, name: string): string {
  return texts.find((each) => each.name === name)?.text ?? '';
}
