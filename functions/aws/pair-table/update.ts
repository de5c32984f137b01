import type { CheckedVersion } from '../../broker/pair/record.ts';
import type { Acquisition, Ending, Lease, RejectedRequest } from '../../broker/pair/store.ts';
import { forgetAt, json, numeric } from '../attributes.ts';
import type { SealedToken } from '../sealing/sealing.ts';
import {
  HELD,
  type Item,
  MAX_FENCE,
  MIN_FENCE,
  PAUSE_ATTRIBUTES,
  REJECTED,
  rejectedEntry,
  sealAttributes,
} from './item.ts';

/** One change of an item; `add` puts entries into sets. Each can be repeated: a second time changes nothing more. */
export interface Change {
  readonly set?: Item;
  readonly add?: Item;
  readonly remove?: readonly string[];
  readonly condition?: string;
  readonly values?: Item;
}

/**
 * I know the latest fence, and its lease is over, mine, or watched to its end; or the lease is mine already and the
 * answer was lost. The new fence is written, not counted up, so that a repetition does not count twice.
 */
export function acquireChange(acquisition: Acquisition): Change {
  const { seenFence, owner, now, until, observedExpired, forced, chargedVersion, isCheck } = acquisition;
  const fence = seenFence + 1;
  const seen = seenFence === 0 ? NO_FENCE : { ways: ['fence = :seen'], values: { ':seen': numeric(seenFence) } };
  const over = seen.ways.flatMap((one) => LEASE_IS_OVER.map((way) => `${one} AND ${way}`));
  return {
    set: {
      fence: numeric(fence),
      leaseOwner: { S: owner },
      leaseUntil: numeric(until),
      ...(!isCheck && { attemptedAt: numeric(now) }),
      ...(forced && { forcedAt: numeric(now) }),
    },
    ...(chargedVersion !== undefined && { add: { [REJECTED + chargedVersion]: rejectedEntry(fence, now) } }),
    // All ways side by side and no parentheses: dynalite needs 20 ms for three levels of them.
    condition: ['leaseOwner = :owner AND fence = :fence', ...(observedExpired ? seen.ways : over)].join(' OR '),
    values: {
      ':owner': { S: owner },
      ':fence': numeric(fence),
      ...seen.values,
      ...(!observedExpired && { ':number': { S: 'N' }, ':now': numeric(now) }),
    },
  };
}

/** Any of these ways. They ask for the type by name, so that an attribute of another type stands in no lease's way. */
const NO_FENCE = {
  ways: ['NOT attribute_type(fence, :number)', 'fence < :min', 'fence > :max'],
  values: { ':number': { S: 'N' }, ':min': numeric(MIN_FENCE), ':max': numeric(MAX_FENCE) },
};

/** Or mine already. */
const LEASE_IS_OVER = ['leaseOwner = :owner', 'NOT attribute_type(leaseUntil, :number)', 'leaseUntil <= :now'];

/** What came of a lease. A token that is published comes sealed, or without a key proves only its version. */
export function endChange(ending: Ending, sealed: SealedToken | undefined): Change {
  switch (ending.kind) {
    case 'publish': {
      const proven = provenAttributes(ending.token.credentialVersion, ending.holdKey);
      return sealed ? { set: sealAttributes(sealed), remove: [...PAUSE_ATTRIBUTES, ...proven] } : { remove: proven };
    }
    case 'prove':
      return { remove: provenAttributes(ending.version, ending.holdKey) };
    case 'pause': {
      const { until, step, problem } = ending.pause;
      return { set: { pauseUntil: numeric(until), pauseStep: numeric(step), pauseProblem: json(problem) } };
    }
    case 'hold': {
      const expired = ending.expiredKeys.filter((key) => key !== ending.key);
      return { set: { [HELD + ending.key]: json(ending.hold) }, remove: expired.map((key) => HELD + key) };
    }
    case 'withdraw':
      return { remove: ['sealedToken'] };
    case 'release':
      return {};
  }
}

/** The version has worked, so its latch and its hold end. */
function provenAttributes(version: string, holdKey: string): readonly string[] {
  return [REJECTED + version, HELD + holdKey];
}

/** Counts a rejected request. */
export function rejectChange({ fence }: Lease, { version, at, goneVersions }: RejectedRequest): Change {
  const add = goneVersions.includes(version) ? {} : { [REJECTED + version]: rejectedEntry(fence, at) };
  return { add, remove: goneVersions.map((gone) => REJECTED + gone) };
}

/** The change together with the end of the lease, if that is mine, and what a check under it has found. */
export function underLease({ fence, owner }: Lease, change: Change, checked: CheckedVersion | undefined): Change {
  return {
    ...change,
    set: { ...change.set, ...(checked && { checked: json(checked) }) },
    remove: [...(change.remove ?? []), 'leaseOwner', 'leaseUntil'],
    condition: 'fence = :fence AND leaseOwner = :owner',
    values: { ':fence': numeric(fence), ':owner': { S: owner } },
  };
}

/** The change in DynamoDB's words, with the date from which on the item is garbage. */
export function updateInput({ set, add = {}, remove = [], condition, values }: Change, now: number) {
  const given = Object.entries({ ...set, ...add });
  const names = [...given.map(([name]) => name), ...remove];
  const alias = (name: string) => `#${names.indexOf(name)}`;
  const value = (name: string) => `:${names.indexOf(name)}`;
  const terms = {
    // An operator's stop outlives every write: TTL leaves alone what is no number.
    SET: [
      'forgetAt = if_not_exists(disabled, :forgetAt)',
      ...Object.keys(set ?? {}).map((name) => `${alias(name)} = ${value(name)}`),
    ],
    ADD: Object.keys(add).map((name) => `${alias(name)} ${value(name)}`),
    REMOVE: remove.map(alias),
  };
  const clauses = Object.entries(terms).filter(([, { length }]) => length > 0);
  return {
    UpdateExpression: clauses.map(([verb, list]) => `${verb} ${list.join(', ')}`).join(' '),
    ConditionExpression: condition,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [alias(name), name])),
    ExpressionAttributeValues: {
      ...Object.fromEntries(given.map(([name, one]) => [value(name), one])),
      ...values,
      ':forgetAt': forgetAt(now),
    },
  };
}
