import type { Pair, ServiceName } from '../../functions/broker/pair.ts';
import type { Service } from '../../functions/broker/service.ts';
import { exampleService } from '../../test/support/example.ts';
import type { EventClock } from './event-clock.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';

/** How large a simulated world is, and which of its possible courses it takes. */
export interface Scale {
  /** Of the token function; each can answer one request at a time. */
  readonly instances: number;
  readonly pairs: number;
  readonly hours: number;
  readonly seed: number;
  /** Nothing ever fails, and no operator stores a wrong secret. */
  readonly calm: boolean;
}

/** Shared by all parts of a simulated world. */
export interface World {
  readonly scale: Scale;
  readonly clock: EventClock;
  readonly tally: Tally;
  /** A stream of its own for every purpose: one part's draws never change the course of another part. */
  readonly random: (purpose: string) => Random;
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;

const DOMAIN = '.example.com';

/** How long the tokens of each service live. */
export const LIFETIME_SECONDS: Readonly<Record<ServiceName, number>> = {
  'customer-insights': 3_600,
  'merchant-payment-cleansing': 7_200,
};

export const SERVICE_NAMES = Object.keys(LIFETIME_SECONDS);

/** The services, each on the host that has its name; all else is the defaults of the settings. */
export const SERVICES: Readonly<Record<ServiceName, Service>> = Object.fromEntries(
  SERVICE_NAMES.map((name) => [name, exampleService({ authUrl: `https://${name}${DOMAIN}` })]),
);

/** The service that is asked at this address. */
export function serviceAt(url: URL): ServiceName {
  return url.hostname.replace(DOMAIN, '');
}

/** Each client has a pair on every service. */
export function createPairs(count: number): readonly Pair[] {
  return Array.from({ length: count }, (_, n) => ({
    client: `client-${Math.floor(n / SERVICE_NAMES.length) + 1}`,
    service: SERVICE_NAMES[n % SERVICE_NAMES.length] ?? '',
  }));
}
