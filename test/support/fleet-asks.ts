import type { IssueRequest } from '../../functions/broker/http/request.ts';
import type { Issue } from '../../functions/broker/pair/decision.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { ISSUE_REQUEST } from './broker-world.ts';
import { createFleet, type Environment } from './fleet.ts';

/** What one environment answered, and when: by its own clock, and how long that took. */
export interface Answer {
  readonly issue: Issue | undefined;
  readonly problem: Problem | undefined;
  readonly at: number;
  readonly waitMs: number;
}

/** A fleet with this many environments, and what tests of its stories ask of it. */
export function fleetOf(count: number, changes: Parameters<typeof createFleet>[0] = {}) {
  const fleet = createFleet(changes);
  const { clock, shared, counts } = fleet;
  const environments = Array.from({ length: count }, () => fleet.createEnvironment());

  return {
    ...fleet,
    environments,

    /** The shared record as it is. */
    recordNow: () => shared.peek(ISSUE_REQUEST.pair),

    /** What each environment answers when all are asked at once. */
    askAll: (request?: Partial<IssueRequest>): Promise<Answer[]> =>
      clock.run(Promise.all(environments.map((environment) => ask(environment, request)))),

    /** What one environment answers, the first if none is given. */
    askOne: (request?: Partial<IssueRequest>, environment = environments[0] ?? fleet.createEnvironment()) =>
      clock.run(ask(environment, request)),

    /** The calls to the store and to Secrets Manager that some work costs. */
    async callsOf(work: () => Promise<unknown>) {
      const before = { ...counts.storeCalls, secret: counts.secretReads };
      await work();
      const after: Record<string, number> = { ...counts.storeCalls, secret: counts.secretReads };
      const spent = Object.entries(after).map(
        ([name, count]) => [name, count - (asCounts(before)[name] ?? 0)] as const,
      );
      return Object.fromEntries(spent.filter(([, count]) => count > 0));
    },
  };
}

/** Asks one environment and returns its answer, a problem too. */
export async function ask({ issue, now }: Environment, request?: Partial<IssueRequest>): Promise<Answer> {
  const startedAt = now();
  const given = await issue(request).catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
  const problem = given instanceof Problem ? given : undefined;
  return { issue: given instanceof Problem ? undefined : given, problem, at: now(), waitMs: now() - startedAt };
}

function asCounts(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return counts;
}
