import { AsyncLocalStorage } from 'node:async_hooks';
import { parseJsonObject } from '../functions/broker/json.ts';
import type { SendHttp } from '../functions/broker/token-request/send-http.ts';
import { secretPrefix } from '../functions/vocabulary.ts';
import { LOCAL_ENVIRONMENT } from '../lib/settings/names.ts';

/** A request that the broker sent while it answered a call. */
export interface SentRequest {
  /** `table` reads the record, `lease` writes it: the lease first, the outcome later. */
  readonly to: 'table' | 'lease' | 'secret' | 'service';
  /** Absent when no answer arrived. */
  readonly status: number | undefined;
  readonly milliseconds: number;
}

interface Called {
  readonly requestContext: { readonly requestId: string };
}

/** Records, for each recent call, the requests that the broker sent to AWS's stand-ins and to the services. */
export function createCallRecorder() {
  const current = new AsyncLocalStorage<SentRequest[]>();
  const calls = new Map<string, readonly SentRequest[]>();

  return {
    /** Wraps a handler so that its calls are recorded. */
    follow<Event extends Called, Context, Result>(handler: (event: Event, context: Context) => Promise<Result>) {
      return (event: Event, context: Context): Promise<Result> => {
        const sent: SentRequest[] = [];
        calls.set(event.requestContext.requestId, sent);
        for (const oldest of [...calls.keys()].slice(0, -KEPT)) calls.delete(oldest);
        return current.run(sent, () => handler(event, context));
      };
    },
    /** Wraps a sender so that its requests are recorded with their call. */
    watch(send: SendHttp): SendHttp {
      return async (request, limits) => {
        const to = stationOf(request);
        const startedAt = performance.now();
        const note = (status?: number) => {
          const milliseconds = performance.now() - startedAt;
          if (to !== undefined) current.getStore()?.push({ to, status, milliseconds });
        };
        const answer = await send(request, limits).catch((error: unknown) => {
          note();
          throw error;
        });
        note(answer.status);
        return answer;
      };
    },
    /** Returns the requests of a call in the order in which they ended. */
    sentFor: (requestId: string): readonly SentRequest[] => calls.get(requestId) ?? [],
  };
}

const KEPT = 100;

/** Returns `undefined` for a request that does not concern a client, such as a read of the sealing key. */
function stationOf({ headers, body }: Parameters<SendHttp>[0]): SentRequest['to'] | undefined {
  const [api = '', operation] = `${headers['x-amz-target'] ?? ''}`.split('.');
  if (api.startsWith('DynamoDB')) return operation === 'GetItem' ? 'table' : 'lease';
  if (api !== 'secretsmanager') return 'service';
  const id = `${parseJsonObject(body)?.SecretId}`;
  return id.startsWith(secretPrefix(LOCAL_ENVIRONMENT)) ? 'secret' : undefined;
}
