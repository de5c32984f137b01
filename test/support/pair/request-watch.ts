import type { Pair } from '../../../functions/broker/pair.ts';
import type { createFleet } from '../fleet/fleet.ts';
import type { SentRequest } from '../fleet/surroundings.ts';

/**
 * Watches the token requests of one pair, and notes each promise that is broken, whatever has gone wrong: a request is made
 * under a lease of the instance's own in the table, once under each lease, and no call sends a version twice.
 */
export function watchRequests({ shared, owners }: ReturnType<typeof createFleet>, pair: Pair) {
  const broken: string[] = [];
  const used = new Set<string>();
  const sent = new Set<string>();
  let isItemLost = false;

  return {
    broken,

    /** The item is deleted or restored, with its lease. */
    noteLoss() {
      isItemLost = true;
    },

    noteRequest({ from, version }: SentRequest) {
      if (sent.has(`${from} ${version}`)) broken.push(`instance ${from} sent ${version} twice in one call`);
      sent.add(`${from} ${version}`);
      const { lease } = shared.peek(pair);
      const isOwn = lease !== undefined && owners.get(lease.id) === from;
      if (!isOwn && !isItemLost) broken.push(`instance ${from} sent ${version} without a lease`);
      if (isOwn && used.has(lease.id)) broken.push(`two requests were made under ${lease.id}`);
      if (isOwn) used.add(lease.id);
    },
  };
}
