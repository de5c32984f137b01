import { isRecord } from './answer-members.ts';
import { Problem } from './problem.ts';
import { shownName } from './request-body.ts';

/**
 * Checks the members of a body; throws the problem that names every one that is wrong or unknown, and why, and no value.
 * A library of schemas would do as well, but was a tenth of the time in which the function started.
 */
export function parseMembers<Checks extends MemberChecks>(checks: Checks, body: unknown): Members<Checks> {
  if (!isRecord(body)) throw invalid(['the body must be an object']);
  // A map has no member that nobody sent.
  const sent = new Map(Object.entries(body));
  const faults = Object.entries(checks).flatMap(([name, faultOf]) => {
    const fault = faultOf(sent.get(name));
    return fault === undefined ? [] : [`${name}: ${fault}`];
  });
  const unknown = [...sent.keys()].filter((name) => !Object.hasOwn(checks, name));
  if (unknown.length > 0) faults.push(`unknown member ${unknown.map(shownName).join(', ')}`);
  if (faults.length > 0) throw invalid(faults);
  return body as Members<Checks>;
}

function invalid(faults: readonly string[]): Problem {
  return new Problem('invalid-request', `${faults.join('; ')}.`);
}

/** Why a member cannot be this value, `undefined` when it can. What was not sent is `undefined`, too. */
export interface MemberCheck<Value> {
  (value: unknown): string | undefined;
  /** Not there: it tells the compiler what a value without a fault is. */
  readonly value?: Value;
}

type MemberChecks = Readonly<Record<string, MemberCheck<unknown>>>;

type Members<Checks extends MemberChecks> = {
  readonly [Name in keyof Checks]: Checks[Name] extends MemberCheck<infer Value> ? Value : never;
};

export function optional<Value>(faultOf: MemberCheck<Value>): MemberCheck<Value | undefined> {
  return (value) => (value === undefined ? undefined : faultOf(value));
}

export function text(pattern: RegExp, why: string): MemberCheck<string> {
  return (value) => {
    if (value === undefined) return 'is required';
    if (typeof value !== 'string') return 'must be a string';
    return pattern.test(value) ? undefined : why;
  };
}

export function oneOf<const Word extends string>(words: readonly Word[], why: string): MemberCheck<Word> {
  return (value) => (words.some((word) => word === value) ? undefined : why);
}
