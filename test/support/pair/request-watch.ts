import type { PairStore } from '../../../functions/broker/pair/store.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import type { createFleet } from '../fleet/fleet.ts';
import type { SentRequest } from '../fleet/surroundings.ts';

/**
 * Watches the token requests of one pair, and notes each promise that is broken, whatever has gone wrong: a request is made
 * under a lease of the instance's own, once under each lease, and no call sends a version twice.
 */
export function watchRequests({ shared, owners }: ReturnType<typeof createFleet>, pair: Pair) {
  const broken: string[] = [];
  const used = new Set<string>();
  const sent = new Set<string>();
  /** By the number of an instance: the calls that the table left unanswered. */
  const unanswered = new Map<number, { isReadLost: boolean; replaces: number; hasNoKey: boolean }>();
  let isItemLost = false;

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
