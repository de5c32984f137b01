import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import type { createFleet } from '../fleet/fleet.ts';
import type { SentRequest } from '../fleet/surroundings.ts';

/**
 * Watches the table and the token requests of one pair, and notes each promise that is broken, whatever has gone wrong: no
 * write replaces a record that its writer has not seen, no operator's flag is lost, a request is made under a lease that is
 * the instance's own, and once under each, and no call sends a version twice.
 */
export function watchTable({ shared, owners }: ReturnType<typeof createFleet>, pair: Pair) {
  const broken: string[] = [];
  const used = new Set<string>();
  const sent = new Set<string>();
  /** By the number of an instance: the calls that the table left unanswered. */
  const unanswered = new Map<number, { isReadLost: boolean; replaces: number; hasNoKey: boolean }>();
  let isItemLost = false;
  const { replace } = shared;

  shared.replace = async (which, seen, next, deadline) => {
    const before = shared.peek(which);
    const written = await replace(which, seen, next, deadline);
    if (written === undefined) return undefined;
    if (!isSame(before, seen.record)) broken.push('a record was replaced that its writer had not seen');
    if (shared.peek(which).disabled !== before.disabled) broken.push('the flag of an operator was changed');
    return written;
  };

  return {
    broken,

    noteLoss() {
      isItemLost = true;
    },

    noteCall(operation: keyof PairStore, from: number, fault: string | undefined) {
      const isLost = fault !== undefined && LOST.includes(fault);
      const { isReadLost = false, replaces = 0, hasNoKey = false } = unanswered.get(from) ?? {};
      unanswered.set(from, {
        isReadLost: operation === 'read' ? isLost : isReadLost,
        replaces: replaces + (operation === 'replace' && isLost ? 1 : 0),
        hasNoKey: hasNoKey || fault === 'no-key',
      });
    },

    noteRequest({ from, version }: SentRequest) {
      if (sent.has(`${from} ${version}`)) broken.push(`instance ${from} sent ${version} twice in one call`);
      sent.add(`${from} ${version}`);
      const { isReadLost, replaces = 0, hasNoKey } = unanswered.get(from) ?? {};
      // Such an instance goes by itself.
      if (isReadLost || replaces > 1 || hasNoKey || isItemLost) return;
      const { lease } = shared.peek(pair);
      if (lease === undefined || owners.get(lease.id) !== from)
        broken.push(`instance ${from} sent ${version} without a lease`);
      else if (used.has(lease.id)) broken.push(`two requests were made under ${lease.id}`);
      else used.add(lease.id);
    },
  };
}

const LOST = ['unavailable', 'answer-lost', 'late', 'lost-then-busy'];

/** All but the token, which may be closed to an instance. */
function isSame({ token: _, ...one }: PairRecord, { token: __, ...other }: PairRecord): boolean {
  return Object.values(one).every((value, index) => value === Object.values(other)[index]);
}
