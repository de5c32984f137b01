import type { ClientName, Pair, ServiceName } from '../pair/pair.ts';
import { type CheckAnswer, type CheckedPair, type CheckPair, isSilent } from './check-pairs.ts';
import { judgePairs } from './evaluate.ts';
import type { Notify, Report } from './notify.ts';
import { type ListedClient, pairsOf } from './pairs.ts';
import { tellOnce } from './rotation-message.ts';

/** A version of a client's secret that was put into use. */
export interface Promotion {
  readonly client: ClientName;
  readonly version: string;
}

interface Dependencies {
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  /** `undefined` when the client has no secret any more. */
  readonly findClient: (client: ClientName) => Promise<ListedClient | undefined>;
  readonly checkPair: CheckPair;
  readonly notify: Notify;
  /** Remembers, as health does, what the operators were told. */
  readonly createReport: (notify: Notify) => Report;
  /** Called for every pair. Must not throw. */
  readonly record: (record: RotationRecord) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** What came of one pair. */
export interface RotationRecord {
  readonly pair: Pair;
  /** The version that the event was about; the answer tells which one was checked. */
  readonly promoted: string;
  readonly answer: CheckAnswer;
  readonly milliseconds: number;
}

/** Gives what came of every pair of the client. */
export type Rotate = (promotion: Promotion, endsAt: number) => Promise<readonly RotationRecord[]>;

/**
 * Has the broker check a client's current version on each of its services, so that a new version is proven, and its token
 * shared, before a caller needs it. What does not work is told to the operators, once. Whether the event is late or
 * repeated does not matter: the broker proves what is current, and proves it once.
 *
 * @throws RotationUnfinished when another try is needed
 */
export function createRotation(dependencies: Dependencies): Rotate {
  const { services, findClient, checkPair, notify, createReport, record, now } = dependencies;

  return async ({ client, version }, endsAt) => {
    const listed = await findClient(client);
    const { pairs } = pairsOf(listed === undefined ? [] : [listed], services);
    const records = await Promise.all(pairs.map((pair) => checkOne(pair, version, endsAt)));
    const unfinished = [...records.flatMap(unanswered), ...(await reportAll(records, endsAt))];
    if (unfinished.length > 0) throw new RotationUnfinished(`${client}: ${unfinished.join(', ')}`);
    return records;
  };

  async function checkOne(pair: Pair, promoted: string, endsAt: number): Promise<RotationRecord> {
    const startedAt = now();
    const answer = await checkPair(pair, Math.min(CHECK_TIMEOUT_MS, endsAt - startedAt));
    const checked = { pair, promoted, answer, milliseconds: now() - startedAt };
    record(checked);
    return checked;
  }

  /** Tells what failed on the way, one word each. */
  async function reportAll(records: readonly RotationRecord[], endsAt: number): Promise<readonly string[]> {
    const answered = records
      .flatMap(({ pair, answer }) => (answer.kind === 'checked' ? [{ ...answer, pair, at: now() }] : []))
      .filter(({ finding }) => !isSilent(finding));
    const report = createReport(tellOnce(notify, answered));
    const failures: string[] = [];
    // What does not work comes first, so that it is what the one message is about.
    for (const checked of answered.toSorted((one, other) => rank(one) - rank(other))) {
      const reported = await report(checked.pair.service, judgePairs([checked]), endsAt);
      failures.push(...reported.failures);
    }
    return failures;
  }
}

/** Another try may bring what is missing. The message names the client, and services or failures as one word each. */
export class RotationUnfinished extends Error {
  override readonly name = 'RotationUnfinished';
}

/** A service that does not answer says nothing about the version; whether it answers anybody is for health to find out. */
function unanswered({ pair, answer }: RotationRecord): readonly string[] {
  if (answer.kind === 'failed') return [`${pair.service} ${answer.failure}`];
  return isSilent(answer.finding) ? [`${pair.service} ${answer.finding}`] : [];
}

function rank({ finding }: CheckedPair): number {
  return finding === 'accepted' ? 1 : 0;
}

/** Longer than the broker's function can take. */
const CHECK_TIMEOUT_MS = 20_000;
