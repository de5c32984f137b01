import type { Acquisition, Ending, Lease, RejectedRequest } from '../../broker/pair/store.ts';
import type { SealedToken } from '../sealing/sealing.ts';
import {
  forgetAt,
  HELD,
  type Item,
  json,
  MAX_FENCE,
  MIN_FENCE,
  numeric,
  PAUSE_ATTRIBUTES,
  pauseAttributes,
  REJECTED,
  rejectedEntry,
  SEAL_ATTRIBUTES,
  sealAttributes,
} from './item.ts';

/** One change of an item. Each can be repeated: a second time changes nothing more. */
export interface Change {
  readonly set?: Item;
  /** Puts an entry into a set. */
  readonly add?: Item;
  readonly remove?: readonly string[];
  readonly condition?: string;
  /** The values that the condition names. */
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
      ...(forced && !isCheck && { forcedAt: numeric(now) }),
    },
    ...(chargedVersion !== undefined && { add: { [REJECTED + chargedVersion]: rejectedEntry(fence, now) } }),
    // All ways side by side and no parentheses: dynalite needs 20 ms for three levels of them.
    condition: ['leaseOwner = :owner AND fence = :fence', ...(observedExpired ? seen.ways : over)].join(' OR '),
    values: {
      ':owner': { S: owner },
      ':fence': numeric(fence),
      ...seen.values,
      ...(!observedExpired && { ':number': NUMBER_TYPE, ':now': numeric(now) }),
    },
  };
}

const NUMBER_TYPE = { S: 'N' };

/** Any of these ways. They ask for the type by name, so that an attribute of another type stands in no lease's way. */
const NO_FENCE = {
  ways: ['NOT attribute_type(fence, :number)', 'fence < :min', 'fence > :max'],
  values: { ':number': NUMBER_TYPE, ':min': numeric(MIN_FENCE), ':max': numeric(MAX_FENCE) },
};

/** Or mine already. */
const LEASE_IS_OVER = ['leaseOwner = :owner', 'NOT attribute_type(leaseUntil, :number)', 'leaseUntil <= :now'];

/** Ends my lease and writes what came of it: a token that is published, sealed, or without a key that it proved its version. */
export function endChange(lease: Lease, ending: Ending, sealed: SealedToken | undefined): Change {
  return underLease(lease, { ...effectOf(ending, sealed), checked: ending.checked });
}

function effectOf(ending: Ending, sealed: SealedToken | undefined): Pick<Change, 'set' | 'remove'> {
  switch (ending.kind) {
    case 'publish': {
      const proven = provenAttributes(ending.token.credentialVersion, ending.holdKey);
      return sealed ? { set: sealAttributes(sealed), remove: [...PAUSE_ATTRIBUTES, ...proven] } : { remove: proven };
    }
    case 'prove':
      return { remove: provenAttributes(ending.version, ending.holdKey) };
    case 'pause':
      return { set: pauseAttributes(ending.pause) };
    case 'hold': {
      const expired = ending.expiredKeys.filter((key) => key !== ending.key);
      return { set: { [HELD + ending.key]: json(ending.hold) }, remove: expired.map((key) => HELD + key) };
    }
    case 'withdraw':
      return { remove: SEAL_ATTRIBUTES };
    case 'release':
      return {};
  }
}

/** The version has worked, so its latch and its hold end. */
function provenAttributes(version: string, holdKey: string): readonly string[] {
  return [REJECTED + version, HELD + holdKey];
}

/** Counts a rejected request and ends the lease, if it is mine. */
export function rejectChange(lease: Lease, rejection: RejectedRequest): Change {
  return underLease(lease, { ...countChange(lease, rejection), checked: rejection.checked });
}

/** Counts a rejected request and leaves the lease alone. */
export function countChange({ fence }: Lease, { version, at, goneVersions }: RejectedRequest): Change {
  const add = goneVersions.includes(version) ? {} : { [REJECTED + version]: rejectedEntry(fence, at) };
  return { add, remove: goneVersions.map((gone) => REJECTED + gone) };
}

function underLease(
  { fence, owner }: Lease,
  { set, remove = [], checked, ...rest }: Change & Pick<Ending, 'checked'>,
): Change {
  return {
    ...rest,
    set: { ...set, ...(checked && { checked: json(checked) }) },
    remove: [...remove, 'leaseOwner', 'leaseUntil'],
    condition: 'fence = :fence AND leaseOwner = :owner',
    values: { ':fence': numeric(fence), ':owner': { S: owner } },
  };
}

/** The change in DynamoDB's words, with the date from which on the item is garbage. */
export function updateInput({ set, add = {}, remove = [], condition, values }: Change, now: number) {
  const names = [...Object.keys({ ...set, ...add }), ...remove];
  const given = Object.values({ ...set, ...add });
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
      ...values,
      ':forgetAt': forgetAt(now),
      ...Object.fromEntries(given.map((one, index) => [`:${index}`, one])),
    },
  };
}
