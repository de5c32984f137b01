import type { Audit } from '../../broker/audit.ts';
import { callerKey } from '../../broker/authorize.ts';
import { textOf } from '../../broker/json.ts';
import { type Pair, pairKey } from '../../broker/pair.ts';
import { framesOf } from '../../broker/problem.ts';
import { PROBLEMS, UNREADABLE, WARNING_METRICS } from '../../vocabulary.ts';
import { causeWord } from '../calls.ts';
import { BY_ENVIRONMENT, BY_OUTCOME, BY_SERVICE, BY_SERVICE_AND_OUTCOME, emfLine, type Log, metrics } from './emf.ts';

interface Options extends Log {
  /** The version of the running function, as Lambda names it. */
  readonly version?: string | undefined;
  /** The configured services: a name that a caller makes up must not become a metric. */
  readonly services: ReadonlySet<string>;
  readonly rulesDigest?: string;
  /** Keys (`callerKey`) of the stack's own roles whose requests are refused on purpose. */
  readonly refusedRoles?: ReadonlySet<string>;
  /** Counts calls for a token, and those without a token in this time. */
  readonly sloWithinMs?: number | undefined;
}

/** Writes each record as a JSON line with its metrics. */
export function createAuditLog(options: Options): Audit {
  const { environment, version, services, rulesDigest, refusedRoles, sloWithinMs, now, write } = options;
  return (record) => {
    const { outcome, milliseconds, caller, pair, cache, cause } = record;
    const { warnings, tokenRequests } = record.trace;
    const counts = [...warnings].map((warning) => WARNING_METRICS[warning]);
    const isProbe = outcome === 'access-denied' && caller !== undefined && refusedRoles?.has(callerKey(caller));
    const ofSlo = sloCounts(record, sloWithinMs);
    const line = {
      environment,
      version,
      service: pair !== undefined && services.has(pair.service) ? pair.service : 'none',
      outcome,
      Requests: 1,
      Duration: milliseconds,
      CacheHits: cache === 'memory' || cache === 'shared' ? 1 : 0,
      TokenRequests: tokenRequests,
      ...ofSlo,
      requestId: record.requestId,
      operation: record.operation,
      caller: caller && `${caller.partition}:${caller.account}:${caller.role}/${caller.session}`,
      signer: record.signer,
      roleId: caller?.roleId,
      accessKeyId: caller?.accessKeyId,
      sourceIp: record.sourceIp,
      probe: isProbe || undefined,
      pair: pair && pairKey(pair),
      forced: record.forced || undefined,
      minTtl: record.minTtl || undefined,
      cache,
      fingerprint: record.fingerprint,
      credentialVersion: record.credentialVersion,
      credentialExpiresAt: record.credentialExpiry,
      expirySource: record.expirySource,
      rulesDigest,
      warnings: [...warnings],
      // The cause of a problem is a word from the rules.
      cause: outcome === 'internal' ? defectPlace(cause) : textOf(cause),
      ...Object.fromEntries(counts.map((name) => [name, 1])),
    };
    const definitions = [METRICS];
    if (FAULTS.includes(outcome) && version !== undefined) definitions.push(VERSION_METRICS);
    if (ofSlo) definitions.push(SLO_METRICS);
    if (counts.length > 0) definitions.push(metrics({ by: [BY_ENVIRONMENT, BY_SERVICE], counts }));
    write(emfLine(now(), definitions.join(), line));
  };
}

/** Writes a line for each read of a shared record whose token cannot be opened. */
export function createUnreadableLog({ environment, now, write }: Log) {
  return (pair: Pair): void => {
    const line = { environment, service: pair.service, outcome: UNREADABLE, UnreadableRecords: 1, pair: pairKey(pair) };
    write(emfLine(now(), UNREADABLE_METRICS, line));
  };
}

const METRICS = [
  metrics({ by: [BY_OUTCOME, BY_SERVICE_AND_OUTCOME], counts: ['Requests'] }),
  metrics({ by: [BY_SERVICE_AND_OUTCOME], milliseconds: ['Duration'] }),
  metrics({ by: [BY_SERVICE], counts: ['CacheHits', 'TokenRequests'] }),
].join();

/** Counts a call that ends with a token, or with a problem that ends without action by the caller or an operator. */
export function sloCounts(
  { operation, outcome, milliseconds }: Pick<Parameters<Audit>[0], 'operation' | 'outcome' | 'milliseconds'>,
  withinMs: number | undefined,
) {
  const definitions: Readonly<Record<string, { readonly retryable: boolean }>> = PROBLEMS;
  const isIssued = outcome === 'issued';
  if (!withinMs || operation !== 'token' || !(isIssued || definitions[outcome]?.retryable)) return undefined;
  return { SloCalls: 1, SloMissed: isIssued && milliseconds <= withinMs ? 0 : 1 };
}

const SLO_METRICS = metrics({ by: [BY_ENVIRONMENT], counts: ['SloCalls', 'SloMissed'] });

/** The outcomes that roll a version back. A count by version shows whose fault each is. */
const FAULTS: readonly string[] = ['internal', 'table-unavailable'];
const VERSION_METRICS = metrics({ by: [[...BY_OUTCOME, 'version']], counts: ['Requests'] });

const UNREADABLE_METRICS = metrics({ by: [BY_SERVICE_AND_OUTCOME], counts: ['UnreadableRecords'] });

/** Returns the name and the place of a defect, without its message, which may quote a secret. Never throws. */
export function defectPlace(thrown: unknown): { readonly name: string; readonly at: readonly string[] } {
  try {
    if (!(thrown instanceof Error)) return { name: typeof thrown, at: [] };
    return { name: causeWord(thrown), at: framesOf(thrown) };
  } catch {
    return { name: 'unknown', at: [] };
  }
}
