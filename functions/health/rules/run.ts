import { type ClientName, type Pair, pairKey, parsePairKey, type ServiceName, servicesOf } from '../../broker/pair.ts';
import { askUntil, type CheckDependencies, type Checks, checkPairs } from './check-pairs.ts';
import { hasIncident, type ProbeAnswer } from './evaluate.ts';
import type { NotificationMemories, Notified, Notify } from './notify.ts';

/** The findings of a run, and its messages. */
export interface HealthRun extends Checks {
  readonly clients: number;
  /** Pairs in a client's tag whose service is not configured. */
  readonly unknown: readonly Pair[];
  /** Services whose findings in this run are enough for an incident. */
  readonly incidents: readonly ServiceName[];
  readonly probe: ProbeAnswer;
  readonly reported: Notified;
  /** Whether SNS reports a subscriber of messages and alarms for each address. */
  readonly hasSubscribers: boolean;
  readonly milliseconds: number;
}

/** The clients in the list of secrets, with their tag `services`. A secret may be planned for deletion. */
export type ClientList = readonly {
  readonly client: ClientName;
  readonly services?: string | undefined;
  /** The tags `expires` by version. */
  readonly expiries?: ReadonlyMap<string, string>;
}[];

/** Asks the broker for a token as the role that must be refused. Never throws, and ends within `timeoutMs`. */
export type AskAsProbe = (pair: Pair, timeoutMs: number) => Promise<ProbeAnswer>;

interface Dependencies extends CheckDependencies {
  readonly services: readonly ServiceName[];
  readonly intervalMs: number;
  /** Throws without a list, because a run without clients must not look good. */
  readonly listClients: () => Promise<ClientList>;
  readonly askAsProbe: AskAsProbe;
  readonly memories: Pick<NotificationMemories, 'read'>;
  readonly notify: Notify;
  /** Returns whether the operators' topic has a confirmed subscription for each address. Throws if SNS fails. */
  readonly hasSubscribers: () => Promise<boolean>;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
}

/**
 * Proves every pair and the refusal of a role without an access rule, and reports changes to the operators. Ends before
 * the deadline (epoch milliseconds) and before the next run begins. Pairs not reached by then are in `missed`.
 */
export function createHealthRun(dependencies: Dependencies) {
  const { services, intervalMs, listClients, askAsProbe, memories, notify, now, random } = dependencies;

  return async (deadline: number): Promise<HealthRun> => {
    const startedAt = now();
    // Reserves the worst case of the messages and the last writes, and leaves the rest for the checks.
    const totalMs = Math.max(0, Math.min(deadline - startedAt, intervalMs));
    const reportsEndAt = startedAt + totalMs - Math.min(WRITING_MS, totalMs / 5);
    const endsAt = reportsEndAt - Math.min(REPORTING_MS, totalMs / 5);
    const windowEndsAt = startedAt + Math.min(WINDOW_MS, (endsAt - startedAt) * 0.8);

    const [clients, known] = await Promise.all([listClients(), rememberedPairs()]);
    const { pairs: listed, unknown } = pairsOf(clients, services);
    const pairs = new Map([...listed, ...known].map((pair) => [pairKey(pair), pair]));
    const [{ checked, missed }, probe, hasSubscribers] = await Promise.all([
      checkPairs([...pairs.values()], { windowEndsAt, endsAt }, random, dependencies),
      askUntil<ProbeAnswer>(
        ({ condition }) => condition !== 'unproven',
        (timeoutMs) => askAsProbe(probePair(listed), timeoutMs),
        { endsAt, attempts: 3 },
        dependencies,
      ),
      dependencies.hasSubscribers().catch(() => false),
    ]);

    const tags = new Map(clients.map(({ client, expiries }) => [client, expiries]));
    const tagged = checked.map((look) => ({ ...look, expiryTag: tags.get(look.pair.client)?.get(look.version ?? '') }));
    const checks = { checked: tagged, missed };
    const findings = { kind: 'run', checks, listed, probe, at: now() } as const;
    const reported = await notify(
      [undefined, ...services].map((service) => ({ ...findings, service })),
      reportsEndAt,
    );
    const incidents = services.filter((service) => hasIncident(service, checks));
    const found = { clients: clients.length, unknown, incidents, probe };
    return { ...checks, ...found, reported, hasSubscribers, milliseconds: now() - startedAt };
  };

  /** Returns the pairs in memory, listed or not. The check of a deleted secret withdraws its token. */
  async function rememberedPairs(): Promise<readonly Pair[]> {
    const ofServices = services.map(async (service) => {
      // A run without memory checks only the listed pairs. `notify` reports the failure of the memory.
      const memory = await memories.read(service).catch(() => undefined);
      return [...(memory?.entries.keys() ?? [])].map(parsePairKey).filter((pair) => pair?.service === service);
    });
    return (await Promise.all(ofServices)).flat().filter((pair) => pair !== undefined);
  }

  /** Returns an existing pair, so that only the missing rule can be the reason for a refusal. */
  function probePair(pairs: readonly Pair[]): Pair {
    return pairs[Math.floor(random() * pairs.length)] ?? { client: 'no-such-client', service: services[0] ?? 'none' };
  }
}

/** Lets a run check a thousand pairs on slow services within ten minutes. */
const WINDOW_MS = 8 * 60_000;
const REPORTING_MS = 30_000;
const WRITING_MS = 16_000;

/** Returns the pairs of the listed clients. `unknown` contains the pairs whose service is not configured. */
export function pairsOf(clients: ClientList, configured: readonly ServiceName[]) {
  const all = clients.flatMap(({ client, services }): Pair[] =>
    servicesOf(services, configured).map((service) => ({ client, service })),
  );
  return {
    pairs: all.filter(({ service }) => configured.includes(service)),
    unknown: all.filter(({ service }) => !configured.includes(service)),
  };
}
