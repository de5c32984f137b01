import type { Pair } from '../../functions/broker/pair.ts';
import type { SecretStore } from './secret-store.ts';
import { WRONG } from './token-services.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, type World } from './world.ts';

/** Checks one pair; a failed check fails nothing else here. */
export type Check = (pair: Pair) => void;

/** The health function: checks every pair each hour, spread over some minutes. */
export function startHealthChecks({ clock, scale }: World, pairs: readonly Pair[], check: Check): void {
  for (let hour = 0; hour < scale.hours; hour += 1) {
    clock.after(hour * HOUR_MS + CHECKS_AT_MS, () => checkFrom(0));
  }

  function checkFrom(n: number): void {
    const pair = pairs[n];
    if (pair === undefined) return;
    check(pair);
    clock.after(CHECKS_WITHIN_MS / pairs.length, () => checkFrom(n + 1));
  }
}

/**
 * Operators who give a client a new secret now and then, and sometimes a wrong one, which they mend after an hour. The
 * health function hears of it and checks the pairs of that client.
 */
export function startRotations(world: World, pairs: readonly Pair[], secretStore: SecretStore, check?: Check): void {
  const { clock, scale } = world;
  const { uniform, chance } = world.random('operators');
  const lengthMs = scale.hours * HOUR_MS;

  for (const [client, own] of Map.groupBy(pairs, (pair) => pair.client)) {
    if (!chance(lengthMs / ROTATION_INTERVAL_MS)) continue;
    const promote = (version: string) => {
      secretStore.promote(client, version);
      for (const pair of own) clock.after(EVENT_DELAY_MS, () => check?.(pair));
    };
    const isWrong = chance(scale.calm ? 0 : WRONG_SHARE);
    clock.after(uniform() * lengthMs, () => {
      promote(isWrong ? `v2${WRONG}` : 'v2');
      if (isWrong) clock.after(HOUR_MS, () => promote('v3'));
    });
  }
}

const CHECKS_AT_MS = 5 * MINUTE_MS;
const CHECKS_WITHIN_MS = 10 * MINUTE_MS;

const ROTATION_INTERVAL_MS = 30 * 24 * HOUR_MS;
const WRONG_SHARE = 0.05;
const EVENT_DELAY_MS = SECOND_MS;
