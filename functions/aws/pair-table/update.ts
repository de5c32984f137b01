import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Acquisition, Ending, Lease, RejectedRequest } from '../../broker/pair/store.ts';
import type { SealedToken } from '../sealing/sealing.ts';
import {
  checkedAttributes,
  forgetAt,
  heldAttribute,
  holdValue,
  type Item,
  MAX_FENCE,
  MIN_FENCE,
  numeric,
  PAUSE_ATTRIBUTES,
  pauseAttributes,
  rejectedAttribute,
  rejectedEntry,
  SEAL_ATTRIBUTES,
  sealAttributes,
} from './item.ts';

/** One change of an item. Each can be repeated: a second time changes nothing more. */
export interface Change extends Partial<Condition> {
  readonly set?: Item;
  /** Puts an entry into a set. */
  readonly add?: Item;
  readonly remove?: readonly string[];
}

interface Condition {
  readonly condition: string;
  /** The values that the condition names. */
  readonly values: Item;
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
    ...(chargedVersion !== undefined && { add: { [rejectedAttribute(chargedVersion)]: rejectedEntry(fence, now) } }),
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

const NUMBER_TYPE: AttributeValue = { S: 'N' };

/** Any of these ways. They ask for the type by name, so that an attribute of another type stands in no lease's way. */
const NO_FENCE = {
  ways: ['NOT attribute_type(fence, :number)', 'fence < :min', 'fence > :max'],
  values: { ':number': NUMBER_TYPE, ':min': numeric(MIN_FENCE), ':max': numeric(MAX_FENCE) },
};

/** Or mine already. */
const LEASE_IS_OVER = ['leaseOwner = :owner', 'NOT attribute_type(leaseUntil, :number)', 'leaseUntil <= :now'];

/** Ends my lease and writes what came of it. */
export function endChange(lease: Lease, ending: SealedEnding): Change {
  const { set, remove = [] } = effectOf(ending);
  return { set: { ...set, ...checkedAttributes(ending.checked) }, remove: [...LEASE, ...remove], ...underLease(lease) };
}

/** What a lease ends with, its token sealed. */
export type SealedEnding =
  | Exclude<Ending, { readonly kind: 'publish' }>
  | (Omit<Extract<Ending, { readonly kind: 'publish' }>, 'token'> & { readonly sealed: SealedToken });

/** Counts a rejected request and ends the lease, if it is mine. */
export function rejectChange(lease: Lease, rejection: RejectedRequest): Change {
  const { add, remove } = countChange(lease, rejection);
  return { set: checkedAttributes(rejection.checked), add, remove: [...remove, ...LEASE], ...underLease(lease) };
}

/** Counts a rejected request and leaves the lease alone. */
export function countChange({ fence }: Lease, { version, at, goneVersions }: RejectedRequest) {
  const add: Item = goneVersions.includes(version) ? {} : { [rejectedAttribute(version)]: rejectedEntry(fence, at) };
  return { add, remove: goneVersions.map(rejectedAttribute) } satisfies Change;
}

/** The change in DynamoDB's words, with the date from which on the item is garbage. */
export function updateInput({ set, add = {}, remove = [], condition, values }: Change, now: number) {
  const names: Record<string, string> = {};
  const allValues: Record<string, AttributeValue> = { ...values };
  const nameFor = (attribute: string) => {
    const alias = `#n${Object.keys(names).length}`;
    names[alias] = attribute;
    return alias;
  };
  const valueFor = (value: AttributeValue) => {
    const alias = `:v${Object.keys(allValues).length}`;
    allValues[alias] = value;
    return alias;
  };
  const clauses = [
    clause('SET', Object.entries({ ...set, forgetAt: forgetAt(now) }), ([name, value]) => {
      // An operator's stop outlives every write: TTL leaves alone what is no number.
      const given = name === 'forgetAt' ? `if_not_exists(disabled, ${valueFor(value)})` : valueFor(value);
      return `${nameFor(name)} = ${given}`;
    }),
    clause('ADD', Object.entries(add), ([name, value]) => `${nameFor(name)} ${valueFor(value)}`),
    clause('REMOVE', remove, nameFor),
  ];
  return {
    UpdateExpression: clauses.join(''),
    ConditionExpression: condition,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: allValues,
  };
}

function clause<Term>(verb: string, terms: readonly Term[], print: (term: Term) => string): string {
  return terms.length === 0 ? '' : `${verb} ${terms.map(print).join(', ')} `;
}

function underLease({ fence, owner }: Lease): Condition {
  return {
    condition: 'fence = :fence AND leaseOwner = :owner',
    values: { ':fence': numeric(fence), ':owner': { S: owner } },
  };
}

function effectOf(ending: SealedEnding): Pick<Change, 'set' | 'remove'> {
  switch (ending.kind) {
    case 'publish': {
      const { sealed, holdKey } = ending;
      const proven = provenAttributes(sealed.visible.credentialVersion, holdKey);
      return { set: sealAttributes(sealed), remove: [...PAUSE_ATTRIBUTES, ...proven] };
    }
    case 'prove':
      return { remove: provenAttributes(ending.version, ending.holdKey) };
    case 'pause':
      return { set: pauseAttributes(ending.pause) };
    case 'hold': {
      const { key, hold, expiredKeys } = ending;
      const expired = expiredKeys.filter((one) => one !== key);
      return { set: { [heldAttribute(key)]: holdValue(hold) }, remove: expired.map(heldAttribute) };
    }
    case 'withdraw':
      return { remove: SEAL_ATTRIBUTES };
    case 'release':
      return {};
  }
}

/** The version has worked, so its latch and its hold end. */
function provenAttributes(version: string, holdKey: string): readonly string[] {
  return [rejectedAttribute(version), heldAttribute(holdKey)];
}

const LEASE = ['leaseOwner', 'leaseUntil'];
