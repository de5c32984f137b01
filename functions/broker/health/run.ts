import type { Pair, ServiceName } from '../pair/pair.ts';
import { type CheckAnswer, type CheckPair, type Walk, walkPairs } from './check-pairs.ts';
import { hasIncident, judgeService } from './evaluate.ts';
import { judgeOverall } from './evaluate-overall.ts';
import type { Report, Reported } from './notify.ts';
import { type ClientList, pairsOf } from './pairs.ts';
import { type AskAsProbe, type ProbeAnswer, probeAccess } from './probe.ts';

/** What a run found out and told. */
export interface HealthRun extends Walk {
  readonly clients: number;
  /** Secrets under the clients' prefix whose names are none of a client. */
  readonly ignored: readonly string[];
  /** Pairs that a client's tag names and nobody configured. */
  readonly unknown: readonly Pair[];
  /** Services that answered hardly anybody in this run, whatever is remembered of earlier ones. */
  readonly incidents: readonly ServiceName[];
  readonly probe: ProbeAnswer;
  readonly reported: Reported;
  readonly milliseconds: number;
}

/** The answer to one check, for the log. */
export interface CheckRecord {
  readonly pair: Pair;
  readonly answer: CheckAnswer;
  readonly milliseconds: number;
}

interface Dependencies {
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  readonly intervalMs: number;
  /** Throws when there is no list: a run that saw nothing must not look like one that found nothing wrong. */
  readonly listClients: () => Promise<ClientList>;
  readonly checkPair: CheckPair;
  readonly askAsProbe: AskAsProbe;
  readonly report: Report;
  /** Called for every answer to a check. Must not throw. */
  readonly record: (record: CheckRecord) => void;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/**
 * Proves every pair and the refusal of whoever has no access rule, and tells the operators what has changed. Ends before
 * the deadline, epoch milliseconds, and before the next run begins; what it did not reach by then is in `missed`.
 */
export function createHealthRun(dependencies: Dependencies) {
  const { services, intervalMs, listClients, askAsProbe, report, record, now, sleep, random } = dependencies;
  const checkPair: CheckPair = async (pair, timeoutMs) => {
    const startedAt = now();
    const answer = await dependencies.checkPair(pair, timeoutMs);
    record({ pair, answer, milliseconds: now() - startedAt });
    return answer;
  };

  return async (deadline: number): Promise<HealthRun> => {
    const startedAt = now();
    const { windowEndsAt, checksEndAt, reportsEndAt } = timesOf(startedAt, Math.min(deadline, startedAt + intervalMs));
    const { clients, ignored } = await listClients();
    const { pairs, unknown } = pairsOf(clients, services);
    const [walk, probe] = await Promise.all([
      walkPairs(pairs, { windowEndsAt, endsAt: checksEndAt }, { checkPair, now, sleep, random }),
      probeAccess(probePair(pairs), checksEndAt, { askAsProbe, now, sleep }),
    ]);

    const at = now();
    const reports = [
      ...services.map((service) => report(service, judgeService({ service, pairs, walk, at }), reportsEndAt)),
      report(undefined, judgeOverall({ walk, unknown, probe, at }), reportsEndAt),
    ];
    const reported = total(await Promise.all(reports));
    const incidents = services.filter((service) => hasIncident(service, walk));
    const milliseconds = now() - startedAt;
    return { ...walk, clients: clients.length, ignored, unknown, incidents, probe, reported, milliseconds };
  };

  /** A pair that there is, so that nothing but the missing rule can be why the probe is refused. */
  function probePair(pairs: readonly Pair[]): Pair {
    return pairs[Math.floor(random() * pairs.length)] ?? { client: 'no-such-client', service: services[0] ?? 'none' };
  }
}

/** Most of the time is for the checks; messages and the last writes have what they need at their worst. */
function timesOf(startedAt: number, endsAt: number) {
  const totalMs = Math.max(0, endsAt - startedAt);
  const reportsEndAt = endsAt - Math.min(WRITING_MS, totalMs / 5);
  const checksEndAt = reportsEndAt - Math.min(REPORTING_MS, totalMs / 5);
  return { reportsEndAt, checksEndAt, windowEndsAt: startedAt + Math.min(WINDOW_MS, (checksEndAt - startedAt) * 0.8) };
}

/** Leaves room below ten minutes for a thousand pairs on services that need their time. */
const WINDOW_MS = 8 * 60_000;
const REPORTING_MS = 30_000;
const WRITING_MS = 16_000;

function total(reports: readonly Reported[]): Reported {
  return {
    sent: reports.reduce((sum, { sent }) => sum + sent, 0),
    unsent: reports.reduce((sum, { unsent }) => sum + unsent, 0),
    failures: reports.flatMap(({ failures }) => failures),
  };
}
