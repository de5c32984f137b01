import { createAuditLog } from '../../../functions/aws/log/audit-log.ts';
import { StoreUnavailable } from '../../../functions/broker/pair/record.ts';
import { createBrokerWorld, exchange } from '../broker-world.ts';
import { exampleRule } from '../example.ts';
import { createReferencePairStore, type ReferencePairStore } from '../reference-pair-store.ts';
import { MINUTE_MS } from './alarm.ts';
import { DEPLOYED } from './resolve.ts';

/** The real rules of the broker for as long as a test wants, and the lines that their audit log writes meanwhile. */
export function createBrokerDay() {
  const lines: string[] = [];
  const sharedCache = { isDown: false };
  const day = createBrokerWorld({
    accessRules: [exampleRule({ services: 'all' })],
    // So short that nearly every minute asks for a new one.
    answer: (n) => exchange(200, { access_token: `token-${n}`, expires_in: 90 }),
    store: failing(createReferencePairStore(), () => sharedCache.isDown),
    audit: (record) => audit(record),
  });
  const audit = createAuditLog({
    environment: 'test',
    version: DEPLOYED.version,
    services: new Set(Object.keys(day.world.services)),
    rulesDigest: '00ff00ff00ff00ff',
    now: () => day.clock.now,
    write: (line) => lines.push(line),
  });

  /** As a caller does, at any time of the day. */
  const post = (members: object) => day.post(members, { deadline: day.clock.now + 10_000 });

  return {
    ...day,
    lines,
    post,
    sharedCache,
    /** Does the same in each of the next minutes. */
    minutes: async (count: number, act: (minute: number) => unknown) => {
      for (let minute = 0; minute < count; minute++) {
        await act(minute);
        day.clock.now = (Math.floor(day.clock.now / MINUTE_MS) + 1) * MINUTE_MS;
      }
    },
    /** A caller that asks for a token of each service. */
    ask: async () => {
      const services = Object.keys(day.world.services);
      return Promise.all(services.map((service) => post({ client: 'acme', service })));
    },
  };
}

export type BrokerDay = ReturnType<typeof createBrokerDay>;

function failing(store: ReferencePairStore, isDown: () => boolean): ReferencePairStore {
  const orFail = <Arguments extends unknown[], Result>(call: (...given: Arguments) => Promise<Result>) => {
    return async (...given: Arguments) => {
      if (isDown()) throw new StoreUnavailable('down');
      return call(...given);
    };
  };
  return {
    ...store,
    read: orFail(store.read),
    acquire: orFail(store.acquire),
    end: orFail(store.end),
    reject: orFail(store.reject),
  };
}
